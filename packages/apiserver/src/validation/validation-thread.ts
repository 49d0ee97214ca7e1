// The thread that validates large objects. It makes its own definitions, the same as the server's, from what it is told of them.
// Started, fed and ended by large-object-validation.ts, one object at a time.
import { parentPort } from 'node:worker_threads';
import { type KubernetesObject, parseJson, systemClock, type UnstructuredObject } from '@kapstan/api';
import { tellFieldErrors } from '@kapstan/api/internal';
import { customResource } from '../crd/custom-resource.ts';
import { definitionResource } from '../crd/definition-resource.ts';
import { builtinResources } from '../registry/builtin-resources.ts';
import type { DefinitionOrigin } from '../registry/definition-origin.ts';
import type { ToldFindings } from '../registry/large-validation.ts';
import type { ResourceDefinition } from '../registry/resource-definition.ts';
import { serverContext } from '../registry/server-context.ts';
import type { ResourceStrategy } from '../registry/strategy.ts';
import { findingsOf } from '../registry/validation-run.ts';
import type { ValidationJob } from './large-object-validation.ts';

/** More than the headers of an answer hold. */
const maxWarnings = 1_000;

const builtins = new Map<string, ReadonlyMap<string, ResourceDefinition>>();

function builtinOf({ id, policy }: Extract<DefinitionOrigin, { readonly type: 'builtin' }>): ResourceDefinition {
  const key = JSON.stringify(policy ?? null);
  let made = builtins.get(key);
  if (made === undefined) {
    const all = [...builtinResources(policy === undefined ? {} : { policy }), definitionResource(systemClock)];
    made = new Map(all.map((definition) => [originId(definition), definition]));
    builtins.set(key, made);
  }
  const found = made.get(id);
  if (found === undefined) throw new Error(`no built-in resource ${id}`);
  return found;
}

function originId({ origin }: ResourceDefinition): string {
  return origin?.type === 'builtin' ? origin.id : '';
}

/** The last one: who writes large objects writes several of a kind, and a definition with its compiled schema is large too. */
let lastCustom: { readonly json: string; readonly definition: ResourceDefinition } | undefined;

function customOf(json: string): ResourceDefinition {
  if (lastCustom?.json !== json) {
    const { definition, version, names } = parseJson(json) as Extract<DefinitionOrigin, { readonly type: 'custom' }>;
    lastCustom = { json, definition: customResource({ definition, version, names, isTerminating: () => false }) };
  }
  return lastCustom.definition;
}

function strategyOf(
  { strategy, subresources }: ResourceDefinition,
  name: string,
): ResourceStrategy<UnstructuredObject> {
  if (name === '') return strategy;
  const found = subresources.find((subresource) => subresource.name === name);
  if (found?.type !== 'strategy') throw new Error(`no rules for /${name}`);
  return found.strategy;
}

function answer({ origin, subresource, namespace, object, old }: ValidationJob): ToldFindings {
  const definition = origin.type === 'builtin' ? builtinOf(origin) : customOf(origin.json);
  const { errors, warnings } = findingsOf({
    definition,
    strategy: strategyOf(definition, subresource),
    context: serverContext(namespace),
    object: parseJson(object) as KubernetesObject as UnstructuredObject,
    ...(old !== undefined && { old: parseJson(old) as UnstructuredObject }),
  });
  return {
    errors: errors.length === 0 ? undefined : tellFieldErrors(errors),
    warnings: [...warnings].slice(0, maxWarnings),
  };
}

parentPort?.on('message', (job: ValidationJob) => parentPort?.postMessage(answer(job)));
