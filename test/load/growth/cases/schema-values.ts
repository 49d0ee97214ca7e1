// Values for fields of built-in kinds: small samples that their schemas accept, and lists, maps and texts of n of them.
import { type RawSchema, schemaFacts } from '@kapstan/kinds/facts';
import { mostMembers } from '../growth-case.ts';
import type { SchemaField } from './schema-fields.ts';

/** A body holds at most 3 MiB and 500,000 values; a part of both is left for the rest of the object. */
const mostBytes = 2_900_000;
const mostValues = 480_000;

/** Returns the largest n of a field whose request is not refused for its size. */
export function fullOf({ shape, item }: SchemaField): number {
  if (shape === 'text') return item.format === 'byte' ? mostBytes : 2_800_000;
  const one = sample(item, 99_999, 1);
  const bytes = JSON.stringify(one).length + (shape === 'map' ? '"k99999":,'.length : ','.length);
  const most = Math.floor(Math.min(mostBytes / bytes, mostValues / countValues(one)));
  return shape === 'map' ? Math.min(most, mostMembers) : most;
}

const countValues = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, part) => sum + countValues(part), 1)
    : 1;

/** Returns a list or map of n samples, or a text of n characters. `filler`: what texts consist of; default: x. */
export function grown({ shape, item }: SchemaField, n: number, filler = 'x'): unknown {
  if (shape === 'text') return item.format === 'byte' ? 'QUFB'.repeat(n / 4) : filler.repeat(n / filler.length);
  if (shape === 'list') return Array.from({ length: n }, (_, index) => sample(item, index, 1));
  return Object.fromEntries(Array.from({ length: n }, (_, index) => [`k${index}`, sample(item, index, 1)]));
}

/** Returns the object with this value at the end of the way; lists and objects on the way are made where they lack. */
export function withValue(object: object, way: SchemaField['way'], value: unknown): object {
  const copy = structuredClone(object);
  let at = copy as Record<string | number, unknown>;
  for (const [index, step] of way.entries()) {
    const next = way[index + 1];
    if (next === undefined) at[step] = value;
    else at[step] ??= typeof next === 'number' ? [] : {};
    at = at[step] as Record<string | number, unknown>;
  }
  return copy;
}

/** Returns a small value for a schema: the required members, and one more that makes items distinct. */
function sample(schema: RawSchema, index: number, depth: number): unknown {
  const { $ref } = schema;
  const target = typeof $ref === 'string' ? (schemaFacts().definitions[$ref] ?? {}) : schema;
  if (target.properties !== undefined) return depth > 3 ? {} : sampleObject(target, index, depth);
  if (target.items !== undefined) return [sample(target.items as RawSchema, index, depth + 1)];
  if (target.additionalProperties !== undefined || target.type === 'object') return {};
  switch (target.type) {
    case 'integer':
    case 'number':
      return (index % 60_000) + 1;
    case 'boolean':
      return true;
    default:
      return sampleText(target, index);
  }
}

const textsOfFormats: Readonly<Record<string, unknown>> = {
  'date-time': '2026-01-01T00:00:00Z',
  'int-or-string': 1,
  byte: 'QUFB',
};

/** A schema without a type and a format is that of a quantity. */
const sampleText = ({ type, format }: RawSchema, index: number): unknown =>
  textsOfFormats[String(format)] ?? (type === undefined ? '1' : `v${index}`);

function sampleObject(target: RawSchema, index: number, depth: number): Record<string, unknown> {
  const properties = target.properties as Record<string, RawSchema>;
  const required = (target.required as readonly string[] | undefined) ?? Object.keys(properties).slice(0, 1);
  return Object.fromEntries(required.map((name) => [name, sample(properties[name] ?? {}, index, depth + 1)]));
}
