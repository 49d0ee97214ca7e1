import { newNotFound } from '@kapstan/api';
import type { Pod } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { refusal, testContext } from '../../../testing/store-fixture.ts';
import type { QueryOptions } from '../../resource-definition.ts';
import type { ResourceStore } from '../../resource-store.ts';
import { logSubresource } from './log.ts';

const containers = (...names: string[]): { name: string }[] => names.map((name) => ({ name }));

/** Asks for the log of a pod, on a server with a node "here". */
function log(spec: object, options: QueryOptions = {}): Promise<unknown> {
  const pods = { get: async () => ({ object: { metadata: { name: 'p' }, spec } }) };
  const nodes = {
    get: async (_context: unknown, name: string) => {
      if (name !== 'here') throw newNotFound({ group: '', resource: 'nodes' }, name);
    },
  };
  const { get } = logSubresource({ findStore: () => nodes as unknown as ResourceStore });
  return get(pods as unknown as ResourceStore<Pod>, testContext(), { name: 'p', options });
}

const one = { containers: containers('app') };

describe('the log of a pod', () => {
  it('is nothing as long as the pod has no node', async () => {
    expect(await log(one)).toBeUndefined();
    expect(await log({ ...one, ephemeralContainers: containers('dbg') }, { container: 'dbg' })).toBeUndefined();
  });

  it.each<[string, object, QueryOptions, number, string]>([
    ['on a node that is gone', { ...one, nodeName: 'gone' }, {}, 404, 'pods "gone" not found'],
    ['on a node', { ...one, nodeName: 'here' }, {}, 501, 'pods/log is not served here'],
    ['of an unknown container', one, { container: 'zzz' }, 400, 'container zzz is not valid for pod p'],
    [
      'of several containers',
      { containers: containers('a', 'b'), initContainers: containers('i') },
      {},
      400,
      'a container name must be specified for pod p, choose one of: [a b] or one of the init containers: [i]',
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
    ['since two times', one, { sinceSeconds: 1, sinceTime: 'x' }, 422, 'at most one of `sinceTime` or `sinceSeconds`'],
    ['of one stream', one, { stream: 'Stdout' }, 422, 'stream: Forbidden: may not be specified'],
  ])('%s is refused', async (_name, spec, options, code, text) => {
    const error = await refusal(log(spec, options));
    expect(error.code).toBe(code);
    expect(error.message).toContain(text);
  });
});
