import { notFound } from '@kapstan/api/errors';
import type { ResourceStore } from '@kapstan/apiserver';
import type { QueryOptions } from '@kapstan/apiserver/internal';
import { refusal, testContext } from '@kapstan/apiserver/testing';
import type { Pod } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { logSubresource } from './log.ts';

const containers = (...names: string[]): { name: string }[] => names.map((name) => ({ name }));

/** Requests the log of a pod on a server with a node "here". */
function log(spec: object, options: QueryOptions = {}): Promise<unknown> {
  const pods = { get: async () => ({ object: { metadata: { name: 'p', namespace: 'ns' }, spec } }) };
  const nodes = {
    get: async (_context: unknown, name: string) => {
      if (name !== 'here') throw notFound({ group: '', resource: 'nodes' }, name);
      return { object: { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.7' }] } } };
    },
  };
  const { get } = logSubresource({
    findStore: () => nodes as unknown as ResourceStore,
    kubeletAddressTypes: ['Hostname', 'InternalIP'],
  });
  return get(pods as unknown as ResourceStore<Pod>, testContext(), { name: 'p', options });
}

const one = { containers: containers('app') };

describe('the log of a pod', () => {
  it('is nothing as long as the pod has no node', async () => {
    expect(await log(one)).toBeUndefined();
    expect(await log({ ...one, ephemeralContainers: containers('dbg') }, { container: 'dbg' })).toBeUndefined();
  });

  it('lies with the kubelet of its node, which is asked with the same options in its own order', async () => {
    const options = {
      container: 'app',
      follow: true,
      previous: true,
      timestamps: true,
      sinceTime: '2026-01-02T03:04:05Z',
      tailLines: 5,
      limitBytes: 3,
      insecureSkipTLSVerifyBackend: true,
    };
    const from = { scheme: 'https', host: '10.0.0.7', port: 10_250, path: '/containerLogs/ns/p/app' };
    const query =
      'follow=true&limitBytes=3&previous=true&sinceTime=2026-01-02T03%3A04%3A05Z&tailLines=5&timestamps=true';
    expect(await log({ ...one, nodeName: 'here' }, options)).toEqual({
      contentType: 'text/plain',
      from: { ...from, query, peer: 'unverified-kubelet' },
    });
    const few = { sinceSeconds: 9, follow: false };
    expect(await log({ ...one, nodeName: 'here' }, few)).toMatchObject({
      from: { ...from, query: 'sinceSeconds=9', peer: 'kubelet' },
    });
  });

  it.each<[string, object, QueryOptions, number, string]>([
    ['on a node that is gone', { ...one, nodeName: 'gone' }, {}, 404, 'pods "gone" not found'],
    ['of an unknown container', one, { container: 'zzz' }, 400, 'container zzz is not valid for pod p'],
    [
      'of several containers',
      { containers: containers('a', 'b'), initContainers: containers('i') },
      {},
      400,
      'a container name must be specified for pod p, choose one of: [i a b]',
    ],
    [
      'with less than no lines',
      one,
      { tailLines: -1 },
      422,
      'PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    ],
    ['with no bytes', one, { limitBytes: 0 }, 422, 'limitBytes: Invalid value: 0: must be greater than 0'],
    ['since now', one, { sinceSeconds: 0 }, 422, 'sinceSeconds: Invalid value: 0: must be greater than 0'],
    [
      'since two times',
      one,
      { sinceSeconds: 1, sinceTime: 'x' },
      422,
      ': []: Forbidden: at most one of `sinceTime` or `sinceSeconds`',
    ],
    ['of one stream', one, { stream: 'Stdout' }, 422, 'stream: Forbidden: may not be specified'],
  ])('%s is refused', async (_name, spec, options, code, text) => {
    const error = await refusal(log(spec, options));
    expect(error.code).toBe(code);
    expect(error.message).toContain(text);
  });
});
