// Tests that objects of more than 32 KiB are encoded, decoded and compared in slices, and otherwise behave like small
// ones.
import type { UnstructuredObject } from '@kapstan/api';
import { expect, it } from 'vitest';
import { jsonCodec } from './codec.ts';
import type { KeyValue } from './engine.ts';
import { ObjectCoder } from './object-coder.ts';
import { identityTransformer } from './transform/transformer.ts';

const data = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, `value ${index}`]));
const object: UnstructuredObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data };
const key = '/registry/configmaps/default/a';

function coderOf(freeze = true): ObjectCoder<UnstructuredObject> {
  return new ObjectCoder({ codec: jsonCodec<UnstructuredObject>(), transformer: identityTransformer, freeze });
}

function kvOf(value: Uint8Array, revision: number): KeyValue {
  return { key, value, createRevision: revision, modRevision: revision, version: 1, lease: 0 } as unknown as KeyValue;
}

it('is encoded in slices to the same bytes', async () => {
  const coder = coderOf();
  expect(Buffer.compare(await coder.encodeLarge(object), coder.encode(object))).toBe(0);
});

it('is decoded once for its writer and all watches, and frozen', async () => {
  const coder = coderOf();
  const plain = coder.encode(object);
  const kv = kvOf(plain, 7);
  const preparing = coder.prepare(kv);
  expect(preparing).toBeInstanceOf(Promise);
  const [written] = await Promise.all([coder.writtenLarge(key, plain, 7 as never), preparing]);
  expect(coder.readChange(kv)).toBe(written);
  expect(written.object).toEqual({ ...object, metadata: { name: 'a', resourceVersion: '7' } });
  expect(Object.isFrozen(written.object.metadata)).toBe(true);
});

it('is reported by the read that follows when it cannot be decoded', async () => {
  const coder = coderOf();
  const kv = kvOf(Buffer.from(`{"a":"${'x'.repeat(40_000)}`), 7);
  await coder.prepare(kv);
  expect(() => coder.read(kv)).toThrow('not decodable');
});

it('comes back in turns when it was released', async () => {
  const coder = coderOf();
  const stored = await coder.writtenLarge(key, coder.encode(object), 7 as never);
  const before = stored.object;
  stored.release();
  await stored.restore();
  expect(stored.object).not.toBe(before);
  expect(stored.object).toEqual(before);
});

it('counts as unchanged when only its members changed places', async () => {
  const coder = coderOf();
  const reordered = { ...object, data: Object.fromEntries(Object.entries(data).reverse()) };
  const changed = { ...object, data: { ...data, k0: 'eulav 0' } };
  const plain = coder.encode(object);
  expect(await coder.isSameLargeContent(plain, plain)).toBe(true);
  expect(await coder.isSameLargeContent(plain, coder.encode(reordered))).toBe(true);
  expect(await coder.isSameLargeContent(plain, coder.encode(changed))).toBe(false);
});
