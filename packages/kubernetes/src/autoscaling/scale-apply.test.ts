// Writes of a Scale, with the owners of the object's replicas after each, as recorded from a kube-apiserver 1.36.3.

import type { TestServer } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';

interface Owner {
  readonly manager: string;
  readonly operation: string;
  readonly apiVersion: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsV1: { readonly 'f:spec'?: { readonly 'f:replicas'?: unknown } };
}

const deployments = '/apis/apps/v1/namespaces/default/deployments';
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const spec = (replicas: number) => ({ replicas, selector: { matchLabels: { a: 'b' } }, template });
const applyHeaders = { 'content-type': 'application/apply-patch+yaml' };
let server: TestServer;

beforeAll(async () => {
  server = await startKubernetesServer(openLmdbEngine);
});
afterAll(() => server.close());

const scaleOf = (name: string, more: object): object => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name, namespace: 'default' },
  ...more,
});

function apply(name: string, body: object, query: string) {
  return server.send('PATCH', `${deployments}/${name}/scale?${query}`, { headers: applyHeaders, body });
}

/** Returns manager, operation, version, subresource, whether there is a time, and whether it owns the replicas. */
async function owners(name: string): Promise<readonly string[]> {
  const { json } = await server.send('GET', `${deployments}/${name}`);
  return (json.metadata.managedFields as readonly Owner[]).map((entry) => {
    const { manager, operation, apiVersion, subresource = '-', time, fieldsV1 } = entry;
    const owned = fieldsV1['f:spec']?.['f:replicas'] === undefined ? '' : ' replicas';
    return `${manager} ${operation} ${apiVersion} ${subresource} ${time === undefined ? 'no time' : 'time'}${owned}`;
  });
}

describe('applying a Scale', () => {
  it('refuses what the maker of the object owns, shares an equal value, and takes over by force', async () => {
    await server.send('POST', `${deployments}?fieldManager=maker`, {
      body: { metadata: { name: 's' }, spec: spec(1) },
    });
    const conflict = await apply('s', scaleOf('s', { spec: { replicas: 2 } }), 'fieldManager=hpa');
    expect(conflict.json).toMatchObject({
      code: 409,
      message: 'Apply failed with 1 conflict: conflict with "maker" using autoscaling/v1: .spec.replicas',
    });
    expect(await owners('s')).toEqual(['maker Update apps/v1 - time replicas']);

    const equal = await apply('s', scaleOf('s', { spec: { replicas: 1 } }), 'fieldManager=hpa');
    expect(equal.json).toMatchObject({ kind: 'Scale', spec: { replicas: 1 } });
    expect(equal.json.metadata.managedFields).toBeUndefined();
    expect(await owners('s')).toEqual([
      'hpa Apply apps/v1 scale no time replicas',
      'maker Update apps/v1 - no time replicas',
      'maker Update apps/v1 - time',
    ]);

    const forced = await apply('s', scaleOf('s', { spec: { replicas: 3 } }), 'fieldManager=hpa&force=true');
    expect(forced.json).toMatchObject({ kind: 'Scale', spec: { replicas: 3 } });
    expect(await owners('s')).toEqual(['hpa Apply apps/v1 scale no time replicas', 'maker Update apps/v1 - time']);

    const emptied = await apply('s', { apiVersion: 'autoscaling/v1', kind: 'Scale' }, 'fieldManager=hpa');
    expect(emptied.json.spec).toEqual({});
    expect(await owners('s')).toEqual(['maker Update apps/v1 - time']);
    expect((await server.send('GET', `${deployments}/s`)).json.spec.replicas).toBe(0);
  });

  it('shares with who applied the object, who then meets the new owner', async () => {
    const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 't' }, spec: spec(2) };
    const applyAll = () => server.send('PATCH', `${deployments}/t?fieldManager=app`, { headers: applyHeaders, body });
    await applyAll();
    await apply('t', scaleOf('t', { spec: { replicas: 2 } }), 'fieldManager=hpa');
    expect(await owners('t')).toEqual([
      'hpa Apply apps/v1 scale no time replicas',
      'app Apply apps/v1 - time replicas',
    ]);
    await apply('t', scaleOf('t', { spec: { replicas: 6 } }), 'fieldManager=hpa&force=true');
    expect(await owners('t')).toEqual(['hpa Apply apps/v1 scale no time replicas', 'app Apply apps/v1 - time']);
    expect((await applyAll()).json.message).toBe(
      'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale": .spec.replicas',
    );
  });

  it.each([
    [{ apiVersion: 'apps/v1', kind: 'Deployment', spec: {} }, 400, 'invalid object type: apps/v1, Kind=Deployment'],
    [
      { apiVersion: 'autoscaling/v1', kind: 'Scale', spec: { replica: 1 } },
      500,
      'failed to create typed patch object (/; autoscaling/v1, Kind=Scale): .spec.replica: field not declared in schema',
    ],
    [
      scaleOf('t', { spec: { replicas: -1 } }),
      422,
      'Scale.autoscaling "t" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ],
  ])('refuses %j', async (body, code, message) => {
    const { json } = await apply('t', body, 'fieldManager=hpa&force=true');
    expect(json).toMatchObject({ code, message });
  });

  it('holds the version and the uid of an applied Scale against those of the object', async () => {
    const metadata = { name: 't', namespace: 'default' };
    const send = (more: object) =>
      apply(
        't',
        scaleOf('t', { metadata: { ...metadata, ...more }, spec: { replicas: 7 } }),
        'fieldManager=hpa&force=true',
      );
    expect((await send({ resourceVersion: '1' })).json).toMatchObject({ code: 409, reason: 'Conflict' });
    const { json } = await send({ uid: 'other' });
    expect(json.message).toMatch(
      /^Operation cannot be fulfilled on deployments\/scale\.apps "t": Precondition failed: UID in precondition: other, UID in object meta: /,
    );
    const put = { metadata: { ...metadata, uid: 'other' }, spec: { replicas: 7 } };
    expect((await server.send('PUT', `${deployments}/t/scale`, { body: put })).json.message).toMatch(
      /^Operation cannot be fulfilled on deployments\.apps "t": StorageError: invalid object, Code: 4, .*Precondition failed: UID in precondition: other, /,
    );
    const missing = await apply('none', scaleOf('none', { spec: { replicas: 1 } }), 'fieldManager=hpa');
    expect(missing.json).toMatchObject({ code: 404, message: 'deployments.apps "none" not found' });
  });
});

describe('updating a Scale', () => {
  const make = (name: string) =>
    server.send('POST', `${deployments}?fieldManager=maker`, { body: { metadata: { name }, spec: spec(1) } });
  const put = (name: string, replicas: number, manager: string) =>
    server.send('PUT', `${deployments}/${name}/scale?fieldManager=${manager}`, {
      body: { metadata: { name, namespace: 'default' }, spec: { replicas } },
    });

  it('takes the replicas over in an entry without a time, in any form of update', async () => {
    await make('u');
    expect((await put('u', 3, 'put')).json.metadata.managedFields).toBeUndefined();
    expect(await owners('u')).toEqual(['put Update apps/v1 scale no time replicas', 'maker Update apps/v1 - time']);
    const patchWith = (contentType: string, body: unknown) =>
      server.send('PATCH', `${deployments}/u/scale?fieldManager=patch`, {
        headers: { 'content-type': contentType },
        body,
      });
    const patched = ['patch Update apps/v1 scale no time replicas', 'maker Update apps/v1 - time'];
    for (const replicas of [4, 5, 5]) {
      await patchWith('application/merge-patch+json', { spec: { replicas } });
      expect(await owners('u')).toEqual(patched);
    }
    await patchWith('application/json-patch+json', [{ op: 'replace', path: '/spec/replicas', value: 8 }]);
    expect(await owners('u')).toEqual(patched);
    expect((await server.send('GET', `${deployments}/u`)).json.spec.replicas).toBe(8);
  });

  it('splits the entry of the maker when it changes nothing, of which the next update reads the last', async () => {
    await make('v');
    await put('v', 1, 'equal');
    expect(await owners('v')).toEqual(['maker Update apps/v1 - no time replicas', 'maker Update apps/v1 - time']);
    await put('v', 3, 'put');
    expect(await owners('v')).toEqual(['maker Update apps/v1 - time']);
  });
});
