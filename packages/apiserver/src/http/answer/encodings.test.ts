import type { Revision, UnstructuredObject } from '@kapstan/api';
import { jsonEncoding, Stored } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { metadataFrame, metadataJson, metadataMessage, objectJson, whenJsonIsMade } from './encodings.ts';

const key = '/registry/configmaps/default/a';
const plain = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', resourceVersion: '7' }, data: { b: 'c' } };

/** An object known by its bytes, which nobody may parse. */
function unparsed(json: string): Stored<UnstructuredObject> {
  const stored = new Stored<UnstructuredObject>(key, 7 as Revision, plain);
  stored.rememberEncoded(jsonEncoding.name, Buffer.from(json));
  stored.rememberParser(() => {
    throw new Error('parsed');
  });
  stored.release();
  return stored;
}

describe('metadata as JSON', () => {
  it.each(['v1', 'v1beta1'] as const)('of %s is cut out of bytes that are known, without parsing them', (version) => {
    const metadata =
      '{"resourceVersion":"7","name":"a","annotations":{"n":"\\u0041}"},"generation":12345678901234567890}';
    const stored = unparsed(`{"kind":"ConfigMap","apiVersion":"v1","metadata":${metadata},"data":{"metadata":"{"}}`);
    expect(Buffer.from(metadataJson(stored, version, {})).toString()).toBe(
      `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":${metadata}}`,
    );
  });

  it('is made of the object where its bytes are not known, and these are not made for it', () => {
    const stored = new Stored<UnstructuredObject>(key, 7 as Revision, plain);
    expect(JSON.parse(Buffer.from(metadataJson(stored, 'v1', {})).toString())).toEqual({
      ...{ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' },
      metadata: plain.metadata,
    });
    expect(stored.knownJson).toBeUndefined();
  });

  it('of one version and of another, which shows fewer annotations, are never taken for each other', () => {
    const annotations = { 'of-version': 'a', other: 'b' };
    const stored = new Stored<UnstructuredObject>(key, 7 as Revision, {
      ...plain,
      metadata: { ...plain.metadata, annotations },
    });
    const [all, some] = [{}, { versionAnnotations: new Set(['of-version']) }];
    const shown = (bytes: Uint8Array): boolean => Buffer.from(bytes).includes('of-version');
    for (const [owner, isShown] of [[all, true] as const, [some, false] as const]) {
      expect(shown(metadataJson(stored, 'v1', owner))).toBe(isShown);
      expect(shown(metadataFrame('ADDED', stored, { version: 'v1', owner }))).toBe(isShown);
      expect(shown(metadataMessage(stored, owner))).toBe(isShown);
    }
  });

  it.each([['{"kind":"ConfigMap","metadata":null}'], ['{"kind":"ConfigMap"}']])(
    'of %s is that of the object',
    (json) => {
      const stored = new Stored<UnstructuredObject>(key, 7 as Revision, JSON.parse(json));
      stored.rememberEncoded(jsonEncoding.name, Buffer.from(json));
      expect(JSON.parse(Buffer.from(metadataJson(stored, 'v1', {})).toString())).toMatchObject({ metadata: {} });
    },
  );
});

describe('the JSON of a large object', () => {
  const many = { ...plain, data: Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`k${index}`, 'v'])) };

  it('is made before it is sent, and leaves a released object released', async () => {
    const stored = new Stored<UnstructuredObject>(key, 7 as Revision, many);
    stored.storedBytes = 100_000;
    let parses = 0;
    const parse = (): UnstructuredObject => {
      parses += 1;
      return many;
    };
    stored.rememberParser(parse, async () => parse());
    stored.release();
    await whenJsonIsMade(stored);
    expect(JSON.parse(Buffer.from(objectJson(stored)).toString())).toEqual(many);
    expect([stored.knownJson !== undefined, parses]).toEqual([true, 1]);
    void stored.object;
    expect(parses).toBe(2);
  });

  it('is not waited for when the object is small, nor parsed for it', () => {
    const stored = unparsed('{}');
    const small = new Stored<UnstructuredObject>(key, 7 as Revision, plain);
    small.storedBytes = 100;
    expect([stored, small].map(whenJsonIsMade)).toEqual([undefined, undefined]);
  });
});
