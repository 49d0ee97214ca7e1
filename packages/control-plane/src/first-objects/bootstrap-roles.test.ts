import { type ResourceClient, silentLogger } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { BootstrapRoles, type BootstrapRolesPorts } from './bootstrap-roles.ts';

/** Returns a client that fails until `isReadable` is set, and then accepts everything. */
function clientOf(store: { isReadable: boolean; calls: number }): ResourceClient {
  const answer = async (_resource: unknown, object: unknown): Promise<unknown> => {
    store.calls++;
    if (!store.isReadable) throw internalError(new Error('no key'));
    return object;
  };
  const list = () => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: true, value: await answer(undefined, undefined) }),
    }),
  });
  return { get: answer, create: answer, update: answer, list } as unknown as ResourceClient;
}

function rolesWith(client: ResourceClient, ports: Pick<BootstrapRolesPorts, 'isReady' | 'clock'>): BootstrapRoles {
  return new BootstrapRoles({ client, creator: client, ...ports, logger: silentLogger });
}

function rolesOf(isReadable: boolean) {
  const store = { isReadable, calls: 0 };
  const clock = new VirtualClock();
  const isReady = (): boolean => store.isReadable;
  return { store, clock, roles: rolesWith(clientOf(store), { isReady, clock }) };
}

describe('the default roles', () => {
  it('are a health check by the name that kube-apiserver has for it, which holds when they are there', async () => {
    const { roles } = rolesOf(true);
    const { name, isPartOfStart, check } = roles.healthCheck;
    expect({ name, isPartOfStart }).toEqual({ name: 'poststarthook/rbac/bootstrap-roles', isPartOfStart: true });
    expect(check()).toEqual(new Error('not finished'));
    await roles.start();
    expect(check()).toBeUndefined();
  });

  it('are tried again where the store cannot be read, until they are there', async () => {
    const { roles, store, clock } = rolesOf(false);
    await roles.start();
    await clock.advance(3_000);
    expect(roles.healthCheck.check()).toBeInstanceOf(Error);
    store.isReadable = true;
    await clock.advance(1_000);
    await roles.close();
    expect(roles.healthCheck.check()).toBeUndefined();
    const { calls } = store;
    await clock.advance(10_000);
    expect(store.calls).toBe(calls);
  });

  it('are not tried any more after the end', async () => {
    const { roles, store, clock } = rolesOf(false);
    await roles.start();
    await roles.close();
    const { calls } = store;
    await clock.advance(10_000);
    expect(store.calls).toBe(calls);
  });

  it('stop a start that fails on a store that can be read', async () => {
    const { store, clock } = rolesOf(false);
    const roles = rolesWith(clientOf(store), { isReady: () => true, clock });
    await expect(roles.start()).rejects.toThrow('no key');
  });
});
