import type { Revision, UnstructuredObject } from '@kapstan/api';
import { jsonEncoding, Stored } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { type IncludeObject, writeTableRow } from './table-response.ts';

const configMaps = factDefinitions().find(({ resource }) => resource === 'configmaps') as ResourceDefinition;
const createdMs = Date.parse('2026-01-01T00:00:00Z');

const configMap = (name: string): UnstructuredObject => ({
  ...{ kind: 'ConfigMap', apiVersion: 'v1', data: { a: '1' } },
  metadata: { name, resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z' },
});

/** An object that the cache has released, with or without the bytes of its answer. */
function released(name: string, bytes: 'known' | 'unknown') {
  let parses = 0;
  const stored = new Stored<UnstructuredObject>(`/configmaps/${name}`, 7 as Revision, configMap(name));
  if (bytes === 'known') stored.encoded(jsonEncoding);
  stored.rememberParser(() => {
    parses += 1;
    return configMap(name);
  });
  stored.release();
  return { stored, parses: () => parses };
}

/** Returns the row as sent `ageMs` after the object was made. */
function rowOf(
  stored: Stored<UnstructuredObject>,
  ageMs: number,
  { definition = configMaps, includeObject = 'Metadata' as IncludeObject } = {},
): { readonly cells: unknown; readonly object: unknown } {
  const options = { version: 'v1', includeObject, nowMs: createdMs + ageMs } as const;
  const pieces: Uint8Array[] = [];
  writeTableRow(definition, stored, { options, push: (bytes) => pieces.push(bytes) });
  return JSON.parse(Buffer.concat(pieces).toString());
}

describe('a row of a Table', () => {
  it('is made with one parse of an object whose bytes are known, and its age is computed each time', () => {
    const { stored, parses } = released('a', 'known');
    const { metadata, ...rest } = configMap('a');
    expect(rowOf(stored, 5_000).cells).toEqual(['a', 1, '5s']);
    expect(rowOf(stored, 60 * 60_000).cells).toEqual(['a', 1, '60m']);
    expect(rowOf(stored, 0)).toEqual({
      cells: ['a', 1, '0s'],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata },
    });
    expect(rowOf(stored, 0, { includeObject: 'Object' }).object).toEqual({ ...rest, metadata });
    expect(rowOf(stored, 0, { includeObject: 'None' }).object).toBeNull();
    expect(parses()).toBe(1);
  });

  it('needs one parse for each row of an object whose bytes have to be made', () => {
    const { stored, parses } = released('a', 'unknown');
    expect(rowOf(stored, 5_000).object).toMatchObject({ metadata: { name: 'a' } });
    expect(parses()).toBe(1);
    expect(stored.knownJson).toBeUndefined();
  });

  it('shows each object, and each version of one, with its own cells', () => {
    expect(rowOf(released('a', 'known').stored, 0).cells).toEqual(['a', 1, '0s']);
    expect(rowOf(released('b', 'known').stored, 0).cells).toEqual(['b', 1, '0s']);
    const changed = { ...configMap('a'), data: { a: '1', b: '2' } };
    expect(rowOf(new Stored('/configmaps/a', 8 as Revision, changed), 0).cells).toEqual(['a', 2, '0s']);
  });

  it('has the cells of the requested columns, also after other columns were requested', () => {
    const { stored } = released('a', 'known');
    const table = { columns: [], cells: () => ['other'] };
    expect(rowOf(stored, 0).cells).toEqual(['a', 1, '0s']);
    expect(rowOf(stored, 0, { definition: { ...configMaps, table } }).cells).toEqual(['other']);
    expect(rowOf(stored, 0).cells).toEqual(['a', 1, '0s']);
  });

  it('is not kept when it is long, so its object is parsed again each time', () => {
    for (const [characters, parsed] of [
      [1_900, 1],
      [2_100, 2],
    ] as const) {
      const { stored, parses } = released('a', 'known');
      const table = { columns: [], cells: () => ['x'.repeat(characters)] };
      const definition = { ...configMaps, table };
      const before = parses();
      expect(rowOf(stored, 0, { definition }).cells).toEqual(rowOf(stored, 5_000, { definition }).cells);
      expect(parses() - before).toBe(parsed);
    }
  });
});
