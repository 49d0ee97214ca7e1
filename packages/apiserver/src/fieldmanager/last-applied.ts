// Handles the annotation of client-side `kubectl apply`, which lets kubectl take its own fields over when it switches
// to server-side apply. Source: apimachinery util/managedfields/internal/lastapplied*.go.

import { parseJson } from '@kapstan/api';
import { getOwn, isJsonObject, type SlicedWork, setOwn } from '@kapstan/api/internal';
import { stringifySorted } from '../codec/go-json.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import type { Conflict, Conflicts } from './conflicts.ts';
import { FieldSet } from './field-set.ts';
import { fieldSetOf } from './field-set-from-object.ts';

/** The only manager that this applies to. */
export const kubectlManager = 'kubectl';
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
/**
 * Maximum number of bytes of all annotations of an object. Source: apimachinery validation.TotalAnnotationSizeLimitB.
 */
const maxAnnotationBytes: number = 256 * 1024;

/** Returns the conflicts that remain when the fields in the annotation count as kubectl's own. */
export function* conflictsBesideLastApplied(
  conflicts: Conflicts,
  live: unknown,
  schema: SchemaNode,
): SlicedWork<Conflicts> {
  const allowed = yield* lastAppliedFields(live, schema);
  const rest = new Map<string, Conflict>();
  for (const [id, { owner, fields }] of conflicts) {
    const left = yield* fields.difference(allowed);
    if (!left.isEmpty) rest.set(id, { owner, fields: left });
  }
  return rest;
}

function* lastAppliedFields(live: unknown, schema: SchemaNode): SlicedWork<FieldSet> {
  const text = getOwn(annotationsOf(live), annotation);
  if (typeof text !== 'string') return new FieldSet();
  try {
    return yield* fieldSetOf(parseJson(text), schema);
  } catch (error) {
    // A text that is not a configuration allows nothing.
    if (error instanceof SyntaxError) return new FieldSet();
    throw error;
  }
}

/** Updates the annotation, if the object has one, to the configuration that kubectl applies now. Works in place. */
export function syncLastApplied(object: Record<string, unknown>, applied: Record<string, unknown>): void {
  const annotations = annotationsOf(object);
  if (!Object.hasOwn(annotations, annotation)) return;
  setOwn(annotations, annotation, lastAppliedText(applied));
  let bytes = 0;
  for (const [name, value] of Object.entries(annotations))
    bytes += Buffer.byteLength(name) + Buffer.byteLength(String(value));
  if (bytes > maxAnnotationBytes) delete annotations[annotation];
}

/** Returns the text that kubectl would have written. Source: lastappliedupdater.go buildLastApplied. */
function lastAppliedText(applied: Record<string, unknown>): string {
  const { managedFields: _, ...metadata } = isJsonObject(applied.metadata) ? applied.metadata : {};
  if (isJsonObject(metadata.annotations)) {
    const { [annotation]: _previous, ...annotations } = metadata.annotations;
    metadata.annotations = annotations;
  }
  return `${stringifySorted({ ...applied, metadata })}\n`;
}

function annotationsOf(object: unknown): Record<string, unknown> {
  const metadata = isJsonObject(object) ? object.metadata : undefined;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  return isJsonObject(annotations) ? annotations : {};
}
