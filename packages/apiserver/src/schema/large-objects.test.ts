// Reading, decoding and normalizing in slices gives the same result as doing it in one step.

import { deepCopy } from '@kapstan/api';
import { runWhole, type SlicedWork } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { factTypes } from '../testing/fact-types.ts';
import { schemaDefaultsInSlices } from './defaulting.ts';
import { StrictErrors } from './field-validation.ts';
import { type JsonDocument, readJson, readJsonText } from './json-reader.ts';
import { dropNullsInSlices } from './null-pruning.ts';
import { pruneInSlices, pruneUnknownFields } from './pruning.ts';
import { structuralSchema } from './structural-schema.ts';
import { DecodeError, decodeTyped, decodeTypedInSlices } from './typed-decoder.ts';

function outcome<T>(work: () => T): unknown {
  try {
    return work();
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : error;
  }
}

const filler = `[${'{"a":1},'.repeat(10_000)}0]`;

describe('a long text', () => {
  it.each([
    ['with doubled names', `{"f":${filler},"a":1,"a":{"b":2,"b":3}}`],
    ['with halves of pairs', `{"f":${filler},"t":"\\ud800 \\ud83d\\ude00 \\\\ud800 \\udc00"}`],
    ['with exact numbers', `{"f":${filler},"n":[1.50,12345678901234567890,1e400]}`],
    ['that ends too early', `{"f":${filler}`],
    ['with a fault', `{"f":${filler},"a" 1}`],
    ['with a broken text', `{"f":${filler},"a":"${'x'.repeat(20)}\u0001"}`],
    ['with a broken escape', `{"f":${filler},"a":"${'x'.repeat(20)}\\q"}`],
    ['that is too deep', `{"f":${filler},"a":${'['.repeat(1_001)}}`],
    ['with names of the language', `{"f":${filler},"__proto__":{"x":1},"constructor":{}}`],
  ])('%s is read in slices as at once', (_, text) => {
    const atOnce = outcome(() => readJson(text));
    const inSlices = outcome(() => runWhole(readJsonText(text)));
    if (typeof atOnce === 'string') return expect(inSlices).toBe(atOnce);
    const [read, expected] = [inSlices, atOnce] as [JsonDocument, JsonDocument];
    expect(String((read.value as { n?: unknown[] }).n)).toBe(String((expected.value as { n?: unknown[] }).n));
    expect([...read.repeats.values()]).toEqual([...expected.repeats.values()]);
    return expect(JSON.stringify(read.value)).toBe(JSON.stringify(expected.value));
  });
});

const volumes = Array.from({ length: 800 }, (_, index) => ({ name: `v${index}`, emptyDir: {}, extra: index }));
const map = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`k${index}`, 'x']));
const pod = {
  metadata: { name: 'a', labels: map, annotations: {}, creationTimestamp: null },
  spec: { volumes, containers: [{ name: 'c', env: volumes, command: [] }], nope: map },
};

describe('a large object', () => {
  it.each([
    ['as it should be', pod],
    ['with a wrong text', { ...pod, spec: { volumes: [...volumes, { name: 1 }] } }],
    ['with a wrong value of a map', { ...pod, metadata: { labels: { ...map, k: 1 } } }],
    ['with a list for an object', { ...pod, metadata: volumes }],
    ['with an object for a list', { ...pod, spec: { volumes: map } }],
    ['with nulls', { metadata: { labels: map, finalizers: null }, spec: { volumes: [null, ...volumes] } }],
  ])('%s is decoded in slices as at once', (_, value) => {
    const options = () =>
      ({ schema: factTypes.schema('core.v1.Pod'), strict: new StrictErrors(), words: 'json' }) as const;
    const [first, second] = [options(), options()];
    const atOnce = outcome(() => decodeTyped(value, first));
    expect(outcome(() => runWhole(decodeTypedInSlices(value, second)))).toEqual(atOnce);
    expect(second.strict.texts()).toEqual(first.strict.texts());
    if (typeof atOnce === 'string') expect(atOnce).toContain(DecodeError.name);
  });

  it('is brought into its Go form in slices as at once', () => {
    const [atOnce, inSlices] = [deepCopy(pod), deepCopy(pod)] as Record<string, unknown>[];
    factTypes.normalize('core.v1.Pod', atOnce as Record<string, unknown>);
    const work = factTypes.normalizeInSlices('core.v1.Pod', inSlices as Record<string, unknown>);
    expect(stepsOf(work)).toBeGreaterThan(0);
    expect(inSlices).toEqual(atOnce);
  });

  it('of a definition loses unknown fields in slices as at once', () => {
    const item = { type: 'object', properties: { name: { type: 'string' } } } as const;
    const schema = structuralSchema({
      type: 'object',
      properties: { spec: { type: 'object', properties: { volumes: { type: 'array', items: item } } } },
    });
    const [atOnce, inSlices] = [deepCopy(pod), deepCopy(pod)] as Record<string, unknown>[];
    const expected = pruneUnknownFields(atOnce as Record<string, unknown>, schema);
    expect(runWhole(pruneInSlices(inSlices as Record<string, unknown>, schema))).toEqual(expected);
    expect(inSlices).toEqual(atOnce);
    expect(expected.unknown.length).toBeGreaterThan(1_000);
  });

  it('of a definition gets its defaults, and loses forbidden nulls, in slices', () => {
    const entry = { type: 'object', properties: { name: { type: 'string' }, port: { type: 'integer', default: 1 } } };
    const schema = structuralSchema({
      type: 'object',
      properties: { list: { type: 'array', items: entry }, map: { type: 'object', additionalProperties: entry } },
    } as Parameters<typeof structuralSchema>[0]);
    const names = Array.from({ length: 5_000 }, (_, index) => `n${index}`);
    const object = {
      list: names.map((name) => ({ name, port: null })),
      map: Object.fromEntries(names.map((name) => [name, { name: null }])),
    };
    expect(stepsOf(schemaDefaultsInSlices(schema, object))).toBeGreaterThan(10);
    expect(object.list.every(({ port }) => port === 1)).toBe(true);
    expect(stepsOf(dropNullsInSlices(schema, object))).toBeGreaterThan(10);
    expect(object.map.n4999).toEqual({ port: 1 });
  });
});

function stepsOf(work: SlicedWork<unknown>): number {
  let steps = 0;
  while (work.next().done !== true) steps++;
  return steps;
}
