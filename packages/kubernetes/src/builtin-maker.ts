// Makes built-in definitions in the thread that validates large objects.
import { parseJson } from '@kapstan/api';
import type { DefinitionMaker, ResourceDefinition } from '@kapstan/apiserver';
import type { ServerCapabilities } from '@kapstan/apiserver/internal';
import { builtinResources } from './builtin-resources.ts';

/** The `parts` of a built-in definition's origin. */
interface BuiltinParts {
  readonly id: string;
  readonly capabilities?: ServerCapabilities;
}

/** Makes all built-in definitions for some capabilities on the first request for one. */
export function builtinMaker(): DefinitionMaker {
  const made = new Map<string, ReadonlyMap<string, ResourceDefinition>>();
  return (json) => {
    const { id, capabilities } = parseJson(json) as unknown as BuiltinParts;
    const key = JSON.stringify(capabilities ?? null);
    let all = made.get(key);
    if (all === undefined) {
      all = new Map(
        builtinResources(capabilities === undefined ? {} : { capabilities }).map((one) => [idOf(one), one]),
      );
      made.set(key, all);
    }
    const found = all.get(id);
    if (found === undefined) throw new Error(`no built-in resource ${id}`);
    return found;
  };
}

function idOf({ origin }: ResourceDefinition): string {
  return (origin?.parts as BuiltinParts | undefined)?.id ?? '';
}
