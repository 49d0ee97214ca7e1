// The code of the thread that validates large objects. It makes its own definitions from their origins, equal to the
// server's. large-object-validation.ts starts, feeds and ends it, one object at a time; the makers come from the
// packages that know the kinds.
import { parentPort } from 'node:worker_threads';
import { type KubernetesObject, parseJson, type UnstructuredObject } from '@kapstan/api';
import { formatApiVersion, tellFieldErrors } from '@kapstan/api/internal';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { schemaMaker } from '../registry/definition/schema-resource.ts';
import { serverContext } from '../registry/definition/server-context.ts';
import type { ResourceStrategy } from '../registry/definition/strategy.ts';
import type { ToldFindings } from '../registry/store/large-validation.ts';
import { findingsOf } from '../registry/store/validation-run.ts';
import type { ValidationJob } from './large-object-validation.ts';

/** The headers of an answer cannot hold more. */
const maxWarnings = 1_000;

/** Makes a definition from the parts of its origin, as JSON. It is called for each object and so caches its results. */
export type DefinitionMaker = (parts: string) => ResourceDefinition;

/** Makers by the `maker` of a definition's origin. */
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

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();

/** Reads an object, and marks the empty lists and maps that count as absent (kept-empties.ts); the marks are not in its bytes. */
function readObject({ schema, kind, ...version }: ResourceDefinition, bytes: Uint8Array): UnstructuredObject {
  const object = parseJson(textOf(bytes)) as KubernetesObject as UnstructuredObject;
  const name = schema.types?.nameOf(formatApiVersion(version), kind);
  if (name !== undefined)
    schema.types?.normalize(name, object as unknown as Record<string, unknown>, { fields: 'all', found: false });
  return object;
}

function answer(
  makers: DefinitionMakers,
  { origin, subresource, namespace, object, old }: ValidationJob,
): ToldFindings {
  const make = makers[origin.maker];
  if (make === undefined) throw new Error(`nothing makes definitions of ${origin.maker}`);
  const definition = make(origin.parts);
  const told: string[] = [];
  const { errors, warnings } = findingsOf({
    definition,
    strategy: strategyOf(definition, subresource),
    context: { ...serverContext(namespace), warn: (text) => void told.push(text) },
    object: readObject(definition, object),
    old: old === undefined ? undefined : (parseJson(textOf(old)) as UnstructuredObject),
  });
  return {
    errors: errors.length === 0 ? undefined : tellFieldErrors(errors),
    warnings: [...told, ...warnings].slice(0, maxWarnings),
  };
}

/**
 * Answers the server's jobs for as long as the thread lives; call it once, at the thread's start. Besides the
 * definitions of `makers`, the thread can make those of `schemaResource`.
 */
export function runValidationThread(makers: DefinitionMakers): void {
  const all = { schema: schemaMaker(), ...makers };
  parentPort?.on('message', (job: ValidationJob) => parentPort?.postMessage(answer(all, job)));
}
