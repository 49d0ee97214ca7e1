// Warns of schemas with formats that are not checked. The known ones are in schema/formats/string-formats.ts. Source:
// apiextensions-apiserver customresourcedefinition/strategy.go (getUnrecognizedFormatsInCRD).

import type { DeepReadonly } from '@kapstan/api';
import { goQuote, isJsonObject } from '@kapstan/api/internal';
import { isKnownFormat } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';

type Definition = DeepReadonly<CustomResourceDefinition>;

const single = ['additionalProperties', 'additionalItems', 'items', 'not'] as const;
const listed = ['allOf', 'anyOf', 'oneOf', 'items'] as const;
const named = ['properties', 'definitions', 'dependencies', 'patternProperties'] as const;

const numberFormats: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['integer', ['int32', 'int64']],
  ['number', ['float', 'double']],
]);

/** Warns only of formats that the definition did not have before. */
export function formatWarnings(definition: Definition, old: Definition | undefined): readonly string[] {
  const before = old === undefined ? undefined : unknownFormats(old);
  return [...unknownFormats(definition)]
    .filter((format) => before?.has(format) !== true)
    .map((format) => `unrecognized format ${goQuote(format)}`);
}

function unknownFormats({ spec }: Definition): ReadonlySet<string> {
  const formats = new Set<string>();
  for (const { schema } of spec?.versions ?? []) addUnknown(formats, schema?.openAPIV3Schema);
  return formats;
}

function addUnknown(formats: Set<string>, schema: unknown): void {
  if (!isJsonObject(schema)) return;
  const { format, type = '' } = schema;
  if (typeof format === 'string' && !isKnown(type, format)) formats.add(format);
  for (const child of schemasIn(schema)) addUnknown(formats, child);
}

function schemasIn(schema: Record<string, unknown>): readonly unknown[] {
  const lists = listed.map((word) => schema[word]).filter(Array.isArray);
  const maps = named.map((word) => schema[word]).filter(isJsonObject);
  return [...single.map((word) => schema[word]), ...lists.flat(), ...maps.flatMap(Object.values)];
}

function isKnown(type: unknown, format: string): boolean {
  if (format === '') return true;
  if (type === '' || type === 'string') return isKnownFormat(format);
  return numberFormats.get(type)?.includes(format) === true;
}
