import { isStatusError } from '@kapstan/api';
import { ObjectReader } from '@kapstan/apiserver';
import { StoreFixture } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AdmissionServer, testAttributes } from '../testing/admission-server.ts';
import { podResizeValidator } from './pod-resize-validator.ts';

let server: AdmissionServer;

beforeAll(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
  await server.start({ disabled: ['TaintNodesByCondition'] });
  const allocatable = { cpu: '1500m', memory: '1Gi' };
  await server.create('nodes', {
    name: 'linux',
    metadata: { labels: { 'kubernetes.io/os': 'linux' } },
    status: { allocatable },
  });
  await server.create('nodes', { name: 'windows', metadata: { labels: { 'kubernetes.io/os': 'windows' } } });
});
afterAll(() => server.close());

async function resize(nodeName: string, requests: object, generation = 2): Promise<unknown> {
  const spec = { nodeName, containers: [{ name: 'c', resources: { requests } }] };
  const attributes = testAttributes({
    resource: { group: '', version: 'v1', resource: 'pods' },
    subresource: 'resize',
    object: { metadata: { name: 'p', generation }, spec } as object,
    oldObject: { metadata: { name: 'p', generation: 1 } },
    name: 'p',
  });
  try {
    await podResizeValidator(new ObjectReader(server.catalog)).validate?.(attributes);
    return undefined;
  } catch (error) {
    return isStatusError(error)
      ? [error.message.replace(/^.*is forbidden: /, ''), error.status.details?.causes]
      : error;
  }
}

it('a pod may be resized within what its node has', async () => {
  expect(await resize('linux', { cpu: '1500m', memory: '1Gi' })).toBeUndefined();
  expect(await resize('linux', { cpu: '1501m', memory: '1025Mi' })).toEqual([
    "node didn't have enough allocatable resources: cpu, requested: 1501, allocatable: 1500; memory, requested: 1074790400, allocatable: 1073741824",
    [{ reason: 'NodeCapacity' }],
  ]);
});

it('a pod may be resized only on a node that can do it', async () => {
  expect(await resize('windows', {})).toEqual([
    'pod resize is only supported on linux nodes, node "windows" is "windows"',
    [{ reason: 'UnsupportedPlatform' }],
  ]);
  expect(await resize('none', {})).toEqual(['node "none" not found', undefined]);
});

it('a pod without a node, or whose spec stays as it is, is not looked at', async () => {
  expect(await resize('', { cpu: '9' })).toBeUndefined();
  expect(await resize('none', { cpu: '9' }, 1)).toBeUndefined();
});
