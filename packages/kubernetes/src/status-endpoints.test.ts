// Tests fields that the /status endpoints of single kinds keep, own and show, as recorded from a kube-apiserver 1.36.

import type { TestServer } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startKubernetesServer } from './testing/kubernetes-server.ts';

const merge = { 'Content-Type': 'application/merge-patch+json' };
const attachments = '/apis/storage.k8s.io/v1/volumeattachments';
const daemonSets = '/apis/apps/v1/namespaces/default/daemonsets';
const claims = '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims';
const generation = 'deprecated.daemonset.template.generation';

let server: TestServer;
beforeAll(async () => {
  server = await startKubernetesServer(openLmdbEngine);
});
afterAll(() => server.close());

async function created(path: string, body: object): Promise<Awaited<ReturnType<TestServer['send']>>['json']> {
  const { status, json } = await server.send('POST', path, { body: { metadata: { name: 'a' }, ...body } });
  expect(status).toBe(201);
  return json;
}

describe('a /status endpoint', () => {
  it('that keeps the metadata makes nobody the manager of what is sent of it', async () => {
    const source = { persistentVolumeName: 'v' };
    await created(attachments, { spec: { attacher: 'a.b', nodeName: 'n', source } });
    const body = { metadata: { annotations: { x: '1' } }, status: { attached: true } };
    const { json } = await server.send('PATCH', `${attachments}/a/status`, { body, headers: merge });
    expect(json.metadata.annotations).toBeUndefined();
    const ofStatus = json.metadata.managedFields.find(
      (entry: { subresource?: string }) => entry.subresource === 'status',
    );
    expect(ofStatus.fieldsV1).toEqual({ 'f:status': { 'f:attached': {} } });
  });

  it('of a daemon set keeps the generation of its template, which belongs to who creates it', async () => {
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const body = { spec: { selector: { matchLabels: { a: 'b' } }, template } };
    const { metadata, spec } = await created(daemonSets, body);
    expect(metadata.annotations).toEqual({ [generation]: '1' });
    expect(metadata.managedFields[0].fieldsV1['f:metadata']).toEqual({
      'f:annotations': { '.': {}, [`f:${generation}`]: {} },
    });
    const sent = { metadata: { name: 'a' }, spec, status: { numberReady: 1 } };
    const { json } = await server.send('PUT', `${daemonSets}/a/status`, { body: sent });
    expect(json.metadata.annotations).toEqual({ [generation]: '1' });
  });

  it('has rows where Kubernetes gave it some', async () => {
    await created(claims, { spec: { devices: {} } });
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const answers = [`${claims}/a`, `${claims}/a/status`, `${daemonSets}/a/status`].map((path) =>
      server.send('GET', path, { headers: { accept } }),
    );
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 406, 200]);
  });
});
