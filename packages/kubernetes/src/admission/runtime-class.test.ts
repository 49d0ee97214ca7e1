import type { UnstructuredObject } from '@kapstan/api';
import { ObjectReader } from '@kapstan/apiserver';
import { StoreFixture } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtinResources } from '../builtin-resources.ts';
import { AdmissionServer, objection, testAttributes } from '../testing/admission-server.ts';
import { runtimeClass } from './runtime-class.ts';

const disabled = ['ServiceAccount', 'DefaultTolerationSeconds', 'Priority'];
const podFixed = { cpu: '250m', memory: '1Gi' };
const classes: Readonly<Record<string, object>> = {
  plain: {},
  heavy: { overhead: { podFixed } },
  light: { overhead: {} },
  placed: { scheduling: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'k', operator: 'Exists' }] } },
  open: { scheduling: {} },
};
let server: AdmissionServer;

beforeAll(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
  await server.start({ disabled });
  await server.create('namespaces', { name: 'default' });
  for (const [name, rest] of Object.entries(classes)) {
    await server.create('runtimeclasses', { group: 'node.k8s.io', name, handler: 'h', ...rest });
  }
});
afterAll(() => server.close());

let pods = 0;
const create = (spec: object): Promise<UnstructuredObject> => server.create('pods', { name: `p${++pods}`, spec });

describe('a pod that names a runtime class', () => {
  it.each<[object, object]>([
    [{}, {}],
    [{ runtimeClassName: 'plain' }, {}],
    [{ runtimeClassName: 'heavy' }, { overhead: podFixed }],
    [{ runtimeClassName: 'heavy', overhead: {} }, { overhead: podFixed }],
    [{ runtimeClassName: 'heavy', overhead: { memory: '1024Mi', cpu: '0.25' } }, { overhead: podFixed }],
    [{ runtimeClassName: 'light' }, {}],
    [{ runtimeClassName: 'light', overhead: {} }, {}],
    [{ runtimeClassName: 'open' }, {}],
    [{ runtimeClassName: 'placed' }, { nodeSelector: { a: 'b' }, tolerations: [{ key: 'k', operator: 'Exists' }] }],
    [
      {
        runtimeClassName: 'placed',
        nodeSelector: { a: 'b', c: 'd' },
        tolerations: [
          { key: 'k', operator: 'Exists', effect: 'NoSchedule' },
          { key: 'z', operator: 'Exists' },
        ],
      },
      {
        nodeSelector: { a: 'b', c: 'd' },
        tolerations: [
          { key: 'z', operator: 'Exists' },
          { key: 'k', operator: 'Exists' },
        ],
      },
    ],
  ])('%j becomes %j', async (spec, expected) => {
    const { runtimeClassName: _name, ...rest } = (await create(spec)).spec as Record<string, unknown>;
    expect(rest).toEqual(expected);
  });

  const differs = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
  const unfounded = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead';
  it.each<[object, string]>([
    [{ runtimeClassName: 'none' }, 'pod rejected: RuntimeClass "none" not found'],
    [{ overhead: { cpu: '1' } }, unfounded],
    [{ runtimeClassName: 'plain', overhead: { cpu: '1' } }, unfounded],
    [{ runtimeClassName: 'heavy', overhead: { cpu: '250m' } }, differs],
    [{ runtimeClassName: 'heavy', overhead: { cpu: '250m', memory: '2Gi' } }, differs],
    [{ runtimeClassName: 'light', overhead: { cpu: '1' } }, differs],
    [
      { runtimeClassName: 'placed', nodeSelector: { a: 'c' } },
      'conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c',
    ],
  ])('is refused as %j', async (spec, why) => {
    const name = `p${pods + 1}`;
    expect(await objection(async () => void (await create(spec)))).toEqual([
      403,
      `pods "${name}" is forbidden: ${why}`,
    ]);
  });

  it.each([
    ['a/b', 'invalid resource name "a/b": [may not contain \'/\']'],
    ['..', 'invalid resource name "..": [may not be \'..\']'],
    ['', 'resource name may not be empty'],
  ])('is an error of the server where no class can have the name %j', async (runtimeClassName, message) => {
    expect(await objection(async () => void (await create({ runtimeClassName })))).toEqual([500, message]);
  });

  it('may not claim an empty overhead, which its stored form lacks, unless its class has one', async () => {
    const plugin = runtimeClass(new ObjectReader(server.catalog));
    const resource = { group: '', version: 'v1', resource: 'pods' };
    const pods = builtinResources().find(({ kind }) => kind === 'Pod');
    const outcome = async (spec: object): Promise<unknown> => {
      const object: UnstructuredObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec };
      pods?.applyDefaults(object);
      expect(object.spec).not.toHaveProperty('overhead');
      const attributes = testAttributes({ operation: 'CREATE', resource, object });
      return objection(async () => plugin.validate?.(attributes));
    };
    const refused = [403, `pods "x" is forbidden: ${unfounded}`];
    expect(await outcome({ overhead: {} })).toEqual(refused);
    expect(await outcome({ runtimeClassName: 'plain', overhead: {} })).toEqual(refused);
    expect(await outcome({ runtimeClassName: 'light', overhead: {} })).toBeUndefined();
    expect(await outcome({ runtimeClassName: 'plain' })).toBeUndefined();
  });

  it('is looked at when it is created, not later, and what it brings to others does not count', async () => {
    const plugin = runtimeClass(new ObjectReader(server.catalog));
    const resource = { group: '', version: 'v1', resource: 'pods' };
    const object: UnstructuredObject = { spec: { runtimeClassName: 'none', overhead: { cpu: '1' } } };
    const attributes = testAttributes({ resource, object });
    for (const each of [attributes, { ...attributes, operation: 'CREATE' as const, subresource: 'binding' }]) {
      expect(await objection(async () => plugin.admit?.(each))).toBeUndefined();
      expect(await objection(async () => plugin.validate?.(each))).toBeUndefined();
    }
  });
});
