import process from 'node:process';
import { defineResource, type LogFields, type ResourceClient, silentLogger } from '@kapstan/api';
import { FakeListerWatcher, settle, VirtualClock } from '@kapstan/api/testing';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { expect, it } from 'vitest';
import { controller } from './controller-builder.ts';
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
  expect(other.warnings).toEqual([`Failed to list or watch, trying again: ${trouble}`]);
  const refused = expect(runningOther).rejects.toThrow(`stopped before the caches had synced: ${trouble}`);
  stopOther.abort();
  await refused;
});
