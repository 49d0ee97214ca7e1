// Long protobuf messages are read in slices, with the result of reading them at once.
import { JsonLimitError, type JsonLimits } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import type { MessageField } from '../schema/node/message.ts';
import { factTypes } from '../testing/fact-types.ts';
import { decodeIntoInSlices } from './long-message-reader.ts';
import { decodeInto } from './protobuf-decoder.ts';
import { encodeMessage } from './protobuf-encoder.ts';
import { ProtobufWriter } from './protobuf-wire.ts';

const limits: JsonLimits = { maxValues: 100_000, maxMembers: 10_000 };
const many = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => of(index));

function inSlices(
  name: string,
  bytes: Uint8Array,
  given = limits,
): { readonly object: unknown; readonly steps: number } {
  const object = {};
  const work = decodeIntoInSlices(object, factTypes.message(name), { bytes, limits: given });
  let steps = 0;
  while (work.next().done !== true) steps++;
  return { object, steps };
}

function atOnce(name: string, bytes: Uint8Array): unknown {
  const object = {};
  decodeInto(object, factTypes.message(name), bytes);
  return object;
}

const text = 'x'.repeat(100);
const properties = Object.fromEntries(many(200, (index) => [`p${index}`, { type: 'string', description: text }]));
const schema = { type: 'object', properties };

describe('a long message', () => {
  it.each<[string, string, unknown]>([
    ['of many items', 'core.v1.Container', { name: 'c', env: many(2_000, (i) => ({ name: `E${i}`, value: text })) }],
    ['of many members', 'core.v1.ConfigMap', { data: Object.fromEntries(many(2_000, (i) => [`k${i}`, text])) }],
    ['of many texts', 'meta/v1.ObjectMeta', { finalizers: many(2_000, () => text) }],
    ['with long members', 'crd/apiextensions.v1.JSONSchemaProps', { properties: { a: schema, b: schema } }],
    ['with a schema of items', 'crd/apiextensions.v1.JSONSchemaProps', { items: schema }],
    ['with a schema or a boolean', 'crd/apiextensions.v1.JSONSchemaProps', { additionalProperties: schema }],
    [
      'with dependencies',
      'crd/apiextensions.v1.JSONSchemaProps',
      { dependencies: { a: many(500, () => text), b: schema } },
    ],
    ['with JSON in it', 'crd/apiextensions.v1.JSONSchemaProps', { default: many(2_000, (i) => ({ i, text })) }],
    ['with a long text', 'core.v1.ConfigMap', { data: { a: text.repeat(1_000) } }],
    ['with long bytes', 'core.v1.Secret', { data: { a: Buffer.alloc(100_000, 7).toString('base64') } }],
    [
      'with a part in its parent',
      'core.v1.Volume',
      { name: 'v', configMap: { name: 'c', items: many(1_000, (i) => ({ key: `k${i}`, path: text })) } },
    ],
    ['of many numbers', 'core.v1.PodSecurityContext', { supplementalGroups: many(9_000, (i) => i) }],
  ])('%s', (_, name, value) => {
    const bytes = encodeMessage(factTypes.message(name), value);
    const { object } = inSlices(name, bytes);
    expect(object).toEqual(atOnce(name, bytes));
    expect(object).toMatchObject(value as object);
  });

  it('takes many steps where it has many fields, and one where it has one', () => {
    const values = encodeMessage(factTypes.message('meta/v1.ObjectMeta'), { finalizers: many(4_000, () => text) });
    expect(inSlices('meta/v1.ObjectMeta', values).steps).toBeGreaterThan(80);
    const one = encodeMessage(factTypes.message('meta/v1.ObjectMeta'), { finalizers: [text] });
    expect(inSlices('meta/v1.ObjectMeta', one).steps).toBe(0);
  });

  it('has its numbers in one field or in many', () => {
    const writer = new ProtobufWriter();
    const numbers = Buffer.alloc(6_000, 5);
    writer.bytes(4, numbers);
    const { object, steps } = inSlices('core.v1.PodSecurityContext', writer.finish());
    expect(object).toEqual({ supplementalGroups: many(6_000, () => 5) });
    expect(steps).toBeGreaterThan(0);
  });

  it.each<[string, string, unknown, string]>([
    ['items', 'meta/v1.ObjectMeta', { finalizers: many(2_000, () => '') }, 'more than 1000 values'],
    ['members', 'core.v1.ConfigMap', { data: Object.fromEntries(many(200, (i) => [`k${i}`, ''])) }, '100 members'],
  ])('of too many %s is refused', (_, name, value, message) => {
    const bytes = encodeMessage(factTypes.message(name), value);
    const read = (): unknown => inSlices(name, bytes, { maxValues: 1_000, maxMembers: 100 });
    expect(read).toThrow(JsonLimitError);
    expect(read).toThrow(message);
  });

  it('that is cut short is refused as a short one', () => {
    const name = 'core.v1.Container';
    const bytes = encodeMessage(factTypes.message(name), { env: many(2_000, (i) => ({ name: `E${i}` })) });
    const outcomes = (read: (cut: Uint8Array) => unknown): unknown[] =>
      many(40, (cut) => {
        try {
          return read(bytes.subarray(0, bytes.length - cut));
        } catch (error) {
          return String(error);
        }
      });
    const expected = outcomes((cut) => atOnce(name, cut));
    expect(outcomes((cut) => inSlices(name, cut).object)).toEqual(expected);
    expect(expected).toContain('Error: unexpected EOF');
  });

  it('with messages in messages without end is refused', () => {
    const message = factTypes.message('crd/apiextensions.v1.JSONSchemaProps');
    const { number } = message.fields.find(({ name }) => name === 'not') as MessageField;
    let bytes = Buffer.from(encodeMessage(message, { description: text.repeat(50) }));
    for (let depth = 0; depth < 1_200; depth++) {
      const writer = new ProtobufWriter();
      writer.bytes(number, bytes);
      bytes = Buffer.from(writer.finish());
    }
    expect(() => inSlices('crd/apiextensions.v1.JSONSchemaProps', bytes)).toThrow('exceeded max depth');
  });

  it.each<[string, string, (writer: ProtobufWriter) => void]>([
    ['a map entry', 'core.v1.ConfigMap', (writer) => writer.bytes(2, Buffer.alloc(300_000, Buffer.from([0x0a, 0])))],
    [
      'a quantity',
      'core.v1.EmptyDirVolumeSource',
      (writer) => writer.bytes(2, Buffer.alloc(300_000, Buffer.from([0x12, 0]))),
    ],
    [
      'short runs of numbers',
      'core.v1.PodSecurityContext',
      (writer) => {
        for (let run = 0; run < 50; run++) writer.bytes(4, Buffer.alloc(3_000, 5));
      },
    ],
  ])('of many values in %s is counted whole and read in steps', (_, name, write) => {
    const writer = new ProtobufWriter();
    write(writer);
    const bytes = writer.finish();
    const { object, steps } = inSlices(name, bytes, { maxValues: 1_000_000, maxMembers: 10 });
    expect(object).toEqual(atOnce(name, bytes));
    expect(steps).toBeGreaterThan(20);
    expect(() => inSlices(name, bytes, { maxValues: 100_000, maxMembers: 10 })).toThrow('more than 100000 values');
  });

  it('is refused by its depth, not by the stack, whatever the length of its levels', () => {
    const message = factTypes.message('crd/apiextensions.v1.JSONSchemaProps');
    const { number } = message.fields.find(({ name }) => name === 'not') as MessageField;
    const nested = (inner: Buffer, depth: number): Buffer => {
      let bytes = inner;
      for (let level = 0; level < depth; level++) {
        const writer = new ProtobufWriter();
        writer.bytes(number, bytes);
        bytes = Buffer.from(writer.finish());
      }
      return bytes;
    };
    const short = nested(Buffer.alloc(0), 300);
    const long = nested(
      Buffer.concat([short, Buffer.from(encodeMessage(message, { description: text.repeat(60) }))]),
      600,
    );
    expect(inSlices(message.name, long).object).toEqual(atOnce(message.name, long));
  });
});
