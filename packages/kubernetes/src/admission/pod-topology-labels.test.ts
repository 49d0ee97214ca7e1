import type { UnstructuredObject } from '@kapstan/api';
import { ObjectReader } from '@kapstan/apiserver';
import { StoreFixture } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AdmissionServer, testAttributes } from '../testing/admission-server.ts';
import { podTopologyLabels } from './pod-topology-labels.ts';

const zone = 'topology.kubernetes.io/zone';
const region = 'topology.kubernetes.io/region';
const resource = { group: '', version: 'v1', resource: 'pods' };
let server: AdmissionServer;

beforeAll(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
  await server.start({});
  const labels = { [zone]: 'z', [region]: 'r', 'topology.kubernetes.io/rack': 'k' };
  await server.create('nodes', { name: 'placed', metadata: { labels } });
  await server.create('nodes', { name: 'bare' });
  await server.store('nodes').list(testAttributes({}).context, {});
});
afterAll(() => server.close());

const pod = (nodeName: string | undefined): UnstructuredObject => ({
  metadata: { labels: { [zone]: 'mine', q: '1' } },
  spec: nodeName === undefined ? {} : { nodeName },
});
const own = { [zone]: 'mine', q: '1' };
const ofNode = { [zone]: 'z', [region]: 'r', q: '1' };

it.each<[string, Parameters<typeof testAttributes>[0], object]>([
  ['created on a node', { operation: 'CREATE', object: pod('placed') }, ofNode],
  ['bound to a node', { subresource: 'binding', object: pod('placed') }, ofNode],
  ['created on a node without labels', { operation: 'CREATE', object: pod('bare') }, own],
  ['created on a node that is not there', { operation: 'CREATE', object: pod('gone') }, own],
  ['created on a node that no node can be named like: a slash', { operation: 'CREATE', object: pod('a/b') }, own],
  ['created on a node that no node can be named like: dots', { operation: 'CREATE', object: pod('..') }, own],
  ['created on a node that no node can be named like: a percent sign', { operation: 'CREATE', object: pod('%') }, own],
  ['created for any node', { operation: 'CREATE', object: pod(undefined) }, own],
  ['changed later', { object: pod('placed') }, own],
  ['reported on', { subresource: 'status', object: pod('placed') }, own],
])('a pod that is %s has the labels %o', async (_case, changes, labels) => {
  const attributes = testAttributes({ resource, ...changes });
  await podTopologyLabels(new ObjectReader(server.catalog)).admit?.(attributes);
  expect(attributes.object?.metadata?.labels).toEqual(labels);
});

it('a pod without labels gets those of its node alone', async () => {
  const attributes = testAttributes({
    resource,
    operation: 'CREATE',
    object: { spec: { nodeName: 'placed' } } as object,
  });
  await podTopologyLabels(new ObjectReader(server.catalog)).admit?.(attributes);
  expect(attributes.object?.metadata).toEqual({ labels: { [zone]: 'z', [region]: 'r' } });
});
