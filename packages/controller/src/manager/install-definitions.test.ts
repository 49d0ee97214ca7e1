import { once } from 'node:events';
import process from 'node:process';
import { defineResource, type LogFields, type ResourceClient, silentLogger } from '@kapstan/api';
import { forbidden, internalError, serviceUnavailable, tooManyRequests } from '@kapstan/api/errors';
import { FakeListerWatcher, settle, VirtualClock } from '@kapstan/api/testing';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { describe, expect, it } from 'vitest';
import { controller } from '../builder/controller-builder.ts';
import { installDefinitions } from './install-definitions.ts';
import { Manager } from './manager.ts';

const Echo = defineResource({ group: 'demo.dev', version: 'v1', kind: 'Echo', spec: { type: 'object' } });

/** A server whose lists and watches fail at first. */
function brokenAtFirst() {
  const source = new FakeListerWatcher<CustomResourceDefinition>();
  for (const verb of ['watch', 'list'] as const) source.failNext(verb, new Error('no route to host'));
  const client = { listerWatcher: () => source, apply: async () => Echo.definition } as unknown as ResourceClient;
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string, _fields?: LogFields) => void warnings.push(message) };
  return { source, client, logger, warnings, clock: new VirtualClock() };
}

const established = {
  ...Echo.definition,
  status: { conditions: [{ type: 'Established', status: 'True' }] },
} as unknown as CustomResourceDefinition;

const problem =
  'customresourcedefinitions.apiextensions.k8s.io: failed to list or watch, trying again: no route to host';

it('tells the logger, not the process, that definitions cannot be watched, and goes on', async () => {
  const { source, client, logger, warnings, clock } = brokenAtFirst();
  const ofProcess: Error[] = [];
  const listen = (warning: Error): void => void ofProcess.push(warning);
  process.on('warning', listen);
  const installing = installDefinitions([Echo], { client, fieldManager: 'test', clock, logger });
  await settle();
  expect(warnings).toEqual([problem]);
  source.add(established);
  await clock.advance(60_000);
  await installing;
  await settle();
  process.off('warning', listen);
  expect(ofProcess).toEqual([]);
});

it('is told of through the logger of a manager, as its caches are', async () => {
  const { client, logger, warnings, clock } = brokenAtFirst();
  const stop = new AbortController();
  const reconciler = controller(Echo).reconcile(async () => undefined);
  const manager = new Manager([reconciler], { client, clock, logger, installCrds: true });
  const running = manager.run(stop.signal);
  await settle();
  expect(warnings).toEqual([problem]);
  stop.abort();
  await clock.advance(1000);
  await running;
  const other = brokenAtFirst();
  const cached = new Manager([reconciler], { client: other.client, clock: other.clock, logger: other.logger });
  const stopOther = new AbortController();
  const runningOther = cached.run(stopOther.signal);
  await settle();
  const trouble = 'Echo (echos.v1.demo.dev): no route to host';
  expect(other.warnings).toEqual([`failed to list or watch, trying again: ${trouble}`]);
  stopOther.abort();
  await runningOther;
});

describe('while the server cannot be reached', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6443'), { code: 'ECONNREFUSED' });
  const flaky = (answers: readonly Error[]) => {
    const broken = brokenAtFirst();
    const state = { applied: 0 };
    const apply = async () => {
      const error = answers[state.applied++];
      if (error !== undefined) throw error;
      return Echo.definition;
    };
    return { ...broken, state, client: { ...broken.client, apply } as unknown as ResourceClient };
  };

  it.each([
    ['the connection is refused', refused],
    ['the server fails', internalError('down')],
    ['the server is not ready', serviceUnavailable('starting')],
    ['the server is overloaded', tooManyRequests('later', 1)],
  ])('applies a definition again when %s, and warns once', async (_what, error) => {
    const { source, client, logger, warnings, clock, state } = flaky([error, error]);
    const installing = installDefinitions([Echo], { client, fieldManager: 'test', clock, logger, timeoutMs: 120_000 });
    source.add(established);
    await clock.advance(60_000);
    await installing;
    expect(state.applied).toBe(3);
    expect(warnings.filter((text) => text.startsWith('failed to apply'))).toEqual([
      `failed to apply the definition echos.demo.dev, trying again: ${error.message}`,
    ]);
  });

  it('applies a definition again also with a logger that throws', async () => {
    const { source, client, clock, state } = flaky([refused]);
    const full = (): never => {
      throw new Error('the logger is full');
    };
    const logger = { debug: full, info: full, warn: full, error: full };
    const warned = once(process, 'warning');
    const installing = installDefinitions([Echo], { client, fieldManager: 'test', clock, logger });
    source.add(established);
    await clock.advance(60_000);
    await installing;
    expect(state.applied).toBe(2);
    expect(await warned).toMatchObject([{ message: 'the logger is full' }]);
  });

  it.each([
    ['is refused', forbidden({ group: 'demo.dev', resource: 'echos' }, 'x', 'no rights')],
    ['is a mistake of the program', new TypeError('wrong')],
  ])('gives up at once on what %s', async (_what, error) => {
    const { client, logger, clock } = flaky([error]);
    const options = { client, fieldManager: 'test', clock, logger, timeoutMs: 120_000 };
    await expect(installDefinitions([Echo], options)).rejects.toBe(error);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is given up by a manager when the time for its caches is over, which names the error', async () => {
    const { client, logger, clock } = flaky(Array.from({ length: 1000 }, () => refused));
    const reconciler = controller(Echo).reconcile(async () => undefined);
    const options = { client, clock, logger, installCrds: true, cacheSyncTimeoutMs: 5000 };
    const ended = new Manager([reconciler], options).run(new AbortController().signal).catch((error: unknown) => error);
    await clock.advance(4999);
    expect(clock.pendingTimers).toBeGreaterThan(0);
    await clock.advance(1);
    expect(await ended).toMatchObject({
      message: `timed out after 5000 ms waiting for definitions to be installed: ${refused.message}`,
    });
    expect(clock.pendingTimers).toBe(0);
  });
});
