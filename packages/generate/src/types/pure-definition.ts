// pureDefinition: a definition without the parts that a cluster has added. Its keys are sorted, so that equal definitions give equal text.
import { isJsonObject, type JsonObject } from '../source/json-object.ts';

const serverMetadata = [
  'creationTimestamp',
  'deletionTimestamp',
  'finalizers',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
];
const clientAnnotations = ['kubectl.kubernetes.io/last-applied-configuration'];

/** Returns a copy without the status and without metadata that servers and kubectl write. */
export function pureDefinition(definition: JsonObject): JsonObject {
  const { status: _status, metadata, ...rest } = definition;
  return sorted({ ...rest, metadata: pureMetadata(isJsonObject(metadata) ? metadata : {}) }) as JsonObject;
}

function pureMetadata(metadata: JsonObject): JsonObject {
  const kept = Object.entries(metadata).filter(([key, value]) => !serverMetadata.includes(key) && value !== undefined);
  return Object.fromEntries(
    kept.flatMap(([key, value]) => {
      if (key !== 'annotations' || !isJsonObject(value)) return [[key, value]];
      const annotations = Object.entries(value).filter(([name]) => !clientAnnotations.includes(name));
      return annotations.length === 0 ? [] : [[key, Object.fromEntries(annotations)]];
    }),
  );
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
