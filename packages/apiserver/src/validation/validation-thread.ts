// What the thread that validates large objects runs. It makes its own definitions, the same as the server's, from what it is told of
// them. Started, fed and ended by large-object-validation.ts, one object at a time; the makers come from whoever knows the kinds.
import { parentPort } from 'node:worker_threads';
import { type KubernetesObject, parseJson, type UnstructuredObject } from '@kapstan/api';
import { tellFieldErrors } from '@kapstan/api/internal';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { serverContext } from '../registry/definition/server-context.ts';
import type { ResourceStrategy } from '../registry/definition/strategy.ts';
import type { ToldFindings } from '../registry/store/large-validation.ts';
import { findingsOf } from '../registry/store/validation-run.ts';
import type { ValidationJob } from './large-object-validation.ts';

/** More than the headers of an answer hold. */
const maxWarnings = 1_000;

/** Makes a definition from the parts of its origin, as JSON. Called for each object: it keeps what it will be asked for again. */
export type DefinitionMaker = (parts: string) => ResourceDefinition;

/** By the `maker` of a definition's origin. */
export type DefinitionMakers = Readonly<Record<string, DefinitionMaker>>;

function strategyOf(
  { strategy, subresources }: ResourceDefinition,
  name: string,
): ResourceStrategy<UnstructuredObject> {
  if (name === '') return strategy;
  const found = subresources.find((subresource) => subresource.name === name);
  if (found?.type !== 'strategy') throw new Error(`no rules for /${name}`);
  return found.strategy;
}

function answer(
  makers: DefinitionMakers,
  { origin, subresource, namespace, object, old }: ValidationJob,
): ToldFindings {
  const make = makers[origin.maker];
  if (make === undefined) throw new Error(`nothing makes definitions of ${origin.maker}`);
  const definition = make(origin.parts);
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

/** Answers to the server for as long as the thread lives. Called once, at its start. */
export function runValidationThread(makers: DefinitionMakers): void {
  parentPort?.on('message', (job: ValidationJob) => parentPort?.postMessage(answer(makers, job)));
}
