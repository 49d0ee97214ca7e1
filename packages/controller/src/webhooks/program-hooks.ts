// Collects the hooks of several controllers in the form that servers call. Used by manager-hooks.ts and by the test
// cluster.
import type { ProgramHooks } from '@kapstan/api/internal';
import type { Controller } from '../builder/controller-builder.ts';
import { admissionHook, type HookPorts } from './admission-call.ts';
import { hubConversion } from './hub-conversion.ts';

/** Throws TypeError for two webhooks of one name, and for two hubs of one kind. */
export function programHooks(
  controllers: readonly Pick<Controller, 'resource' | 'hooks'>[],
  ports: HookPorts,
): ProgramHooks {
  const admission = controllers.flatMap(({ resource, hooks }) =>
    hooks.admission.map((declared) => admissionHook(resource, declared, ports)),
  );
  const conversions = controllers.flatMap(({ resource, hooks }) =>
    hooks.conversions.size === 0 ? [] : [hubConversion(resource, hooks.conversions)],
  );
  const names = [...admission.map(({ name }) => name), ...conversions.map(({ definition }) => definition)];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new TypeError(`two controllers declare ${twice}: one kind has its webhooks in one controller`);
  return { admission, conversions };
}
