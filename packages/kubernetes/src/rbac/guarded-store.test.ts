import type { UnstructuredObject } from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import type { Authorizer, RequestContext, ResourceStore } from '@kapstan/apiserver';
import { mastersGroup } from '@kapstan/apiserver';
import { describe, expect, it } from 'vitest';
import { guardEscalation } from './escalation-guard.ts';

const context = { user: { name: 'admin', groups: [mastersGroup] }, namespace: 'ns' } as unknown as RequestContext;
const sink = { onEvent: () => undefined, onEnd: () => undefined };
const object: UnstructuredObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name: 'a' },
};
const update = { name: 'a', transform: () => object };
const part = { operation: 'CREATE', name: 'a', subresource: 's', kind: {}, object } as never;

/** The arguments of each member, the optional ones too. */
const calls: { readonly [Name in keyof ResourceStore]-?: Parameters<Required<ResourceStore>[Name]> } = {
  create: [context, object],
  createPrepared: [object],
  get: [context, 'a', { resourceVersion: '5' }],
  find: [context, 'a', { resourceVersion: '5' }],
  list: [context, { limit: 1 }],
  watch: [context, { resourceVersion: '5' }, sink],
  update: [context, update],
  admitPart: [context, part],
  delete: [context, 'a', { gracePeriodSeconds: 1 }],
  deleteCollection: [context, { gracePeriodSeconds: 1 }, { limit: 1 }],
};
const names = Object.keys(calls) as (keyof ResourceStore)[];

function guarded(store: object): ResourceStore {
  const definition = { group: 'rbac.authorization.k8s.io', resource: 'roles' };
  const served = { definition, store } as unknown as Parameters<typeof guardEscalation>[0];
  const authorizer: Authorizer = { authorize: () => ({ decision: 'noOpinion', reason: '' }) };
  return guardEscalation(served, { authorizer, findStore: () => undefined }).store;
}

const call = (store: object, name: string, args: readonly unknown[]): unknown =>
  (store as Record<string, (...given: readonly unknown[]) => unknown>)[name]?.(...args);

describe('the store of roles behind the guard', () => {
  it.each(names)('gets each call of %s, with all that was given', async (name) => {
    const seen: unknown[] = [];
    const answer = {};
    const members = names.map((each) => {
      const member = (...args: unknown[]): unknown => {
        seen.push([each, ...args]);
        return each === 'admitPart' ? undefined : answer;
      };
      return [each, member];
    });
    const result = await call(guarded(Object.fromEntries(members)), name, calls[name]);
    expect(seen).toEqual([[name, ...calls[name]]]);
    expect(result).toBe(name === 'admitPart' ? undefined : answer);
  });

  it('may lack the optional ones', async () => {
    const found = {};
    const get = async (_context: unknown, name: string): Promise<unknown> => {
      if (name === 'a') return found;
      throw notFound({ group: '', resource: 'roles' }, name);
    };
    const store = guarded({ get });
    expect(await store.find?.(context, 'a')).toBe(found);
    expect(await store.find?.(context, 'b')).toBeUndefined();
    expect(await store.admitPart?.(context, part)).toBeUndefined();
    expect(store.createPrepared).toBeUndefined();
  });
});
