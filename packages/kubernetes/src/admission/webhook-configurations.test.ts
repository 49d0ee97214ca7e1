import { isForbidden } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { AdmissionFunctions, alwaysAllow, WebhookPool } from '@kapstan/apiserver';
import { StoreFixture } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AdmissionServer } from '../testing/admission-server.ts';
import { admissionMatching } from './admission-matching.ts';
import { type WebhookAdmission, webhookAdmission } from './webhook-admission.ts';
import type { WebhookConfigurations } from './webhook-configurations.ts';

const clock = new VirtualClock();
let server: AdmissionServer;
let admission: WebhookAdmission;
let configurations: WebhookConfigurations;

beforeEach(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
  const { catalog } = server;
  const ports = {
    ...admissionMatching(catalog),
    authorizer: alwaysAllow,
    pool: new WebhookPool(),
    functions: new AdmissionFunctions(),
    clock,
  };
  admission = webhookAdmission(ports);
  configurations = admission.configurations;
  await server.start({ webhooks: admission.ports, disabled: ['NamespaceLifecycle', 'ServiceAccount'] });
});
afterEach(() => server.close());

const mutating = 'MutatingWebhookConfiguration';
const validating = 'ValidatingWebhookConfiguration';

async function refused(creation: Promise<unknown>): Promise<unknown> {
  return creation.then(
    () => undefined,
    (error: unknown) => error,
  );
}

it('refuses writes while the configurations are not known', async () => {
  const creation = refused(server.create('configmaps', { name: 'a' }));
  for (let second = 0; second < 11; second++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    await clock.advance(1_000);
  }
  const error = await creation;
  expect(isForbidden(error)).toBe(true);
  expect((error as Error).message).toBe('configmaps "a" is forbidden: not yet ready to handle request');
  configurations.replace(mutating, []);
  configurations.replace(validating, []);
  await server.create('configmaps', { name: 'a' });
});

it('orders webhooks by the name of their configuration, then as they stand in it, and follows changes', () => {
  const webhook = (name: string): object => ({ name, clientConfig: { url: 'https://127.0.0.1' } });
  const configuration = (name: string, ...names: string[]): object => ({
    metadata: { name },
    webhooks: names.map(webhook),
  });
  const ids = (): readonly string[] => configurations.source(validating).webhooks.map(({ id }) => id);
  configurations.replace(validating, [configuration('b', 'z', 'y', 'z'), configuration('a', 'x')]);
  expect(ids()).toEqual(['a/x/0', 'b/z/0', 'b/y/0', 'b/z/1']);
  configurations.set(validating, configuration('b', 'w'));
  expect(ids()).toEqual(['a/x/0', 'b/w/0']);
  configurations.delete(validating, configuration('a'));
  expect(ids()).toEqual(['b/w/0']);
  expect(configurations.source(mutating).webhooks).toEqual([]);
});
