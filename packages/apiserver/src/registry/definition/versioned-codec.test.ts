import { type Revision, toRevision, type UnstructuredObject } from '@kapstan/api';
import { jsonCodec } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { testDefinition } from '../../testing/store-fixture.ts';
import { versionedCodec } from './versioned-codec.ts';

const revision: Revision = toRevision(7);
const bytesOf = (object: unknown): Uint8Array => new TextEncoder().encode(`${JSON.stringify(object)}\n`);
const text = (bytes: Uint8Array | undefined): unknown =>
  bytes === undefined ? undefined : JSON.parse(new TextDecoder().decode(bytes));
const stored = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };

describe('the codec of a version', () => {
  const same = (object: unknown): UnstructuredObject => object as UnstructuredObject;
  const toStored = same;

  it('takes the wire form from the stored bytes where nothing has to be converted', () => {
    for (const definition of [testDefinition(), testDefinition({ convert: { fromStored: same, toStored } })]) {
      const codec = versionedCodec(definition, jsonCodec());
      const bytes = bytesOf(stored);
      const object = codec.decode(bytes, revision);
      expect(object).toEqual({ ...stored, metadata: { name: 'a', resourceVersion: '7' } });
      expect(text(codec.wireJson?.(bytes, revision))).toEqual(object);
    }
  });

  it('knows so of each value, whatever was read since', () => {
    const codec = versionedCodec(testDefinition(), jsonCodec());
    const [own, other] = [bytesOf(stored), bytesOf({ ...stored, apiVersion: 'v2' })];
    codec.decode(own, revision);
    codec.decode(other, revision);
    expect(text(codec.wireJson?.(own, revision))).toMatchObject({ metadata: { resourceVersion: '7' } });
    expect(codec.wireJson?.(other, revision)).toBeUndefined();
    expect(codec.wireJson?.(bytesOf(stored), revision), 'never read').toBeUndefined();
  });

  it('makes it anew where something was', () => {
    const convert = { fromStored: (object: unknown) => ({ ...same(object), data: { k: 'v' } }), toStored };
    const other = { ...stored, apiVersion: 'v2' };
    for (const [definition, value] of [
      [testDefinition({ convert }), stored],
      [testDefinition({ convert: { fromStored: same, toStored } }), other],
      [testDefinition(), other],
    ] as const) {
      const codec = versionedCodec(definition, jsonCodec());
      const bytes = bytesOf(value);
      codec.decode(bytes, revision);
      expect(codec.wireJson?.(bytes, revision)).toBeUndefined();
    }
  });
});
