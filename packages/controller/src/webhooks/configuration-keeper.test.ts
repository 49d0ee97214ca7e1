import { type KubernetesObject, type LogFields, type ResourceClient, silentLogger, systemClock } from '@kapstan/api';
import { FakeListerWatcher, settle, VirtualClock } from '@kapstan/api/testing';
import { ValidatingWebhookConfiguration } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { expect, it } from 'vitest';
import { createIssuer } from '../certificates/index.ts';
import { ConfigurationKeeper } from './configuration-keeper.ts';
import { encodedBundle, type KeptObject } from './webhook-objects.ts';

type Configuration = ValidatingWebhookConfiguration;

const nowMs = systemClock.now();
const object = (bundle: string): Configuration => ({
  metadata: { name: 'a', resourceVersion: '1' },
  webhooks: [{ name: 'x', clientConfig: { caBundle: encodedBundle(bundle) } } as never],
});
const kept: KeptObject = {
  resource: ValidatingWebhookConfiguration,
  name: 'a',
  isOwn: true,
  fields: (bundle = '') => object(bundle),
  clientConfigs: ({ webhooks = [] }: KubernetesObject & { webhooks?: readonly { clientConfig: object }[] }) =>
    webhooks.map(({ clientConfig: config }, at) => ({ place: `/webhooks/${at}`, name: 'x', config })),
};

interface Made {
  readonly listerWatcher?: () => FakeListerWatcher<Configuration>;
  /** Writes succeed. Default: they never end. */
  readonly writes?: boolean;
  readonly isLeader?: () => boolean;
}

async function made({ listerWatcher, writes = false, isLeader = () => true }: Made = {}) {
  const source = new FakeListerWatcher<Configuration>();
  const written: string[] = [];
  const clock = new VirtualClock({ startMs: nowMs });
  const errors: string[] = [];
  const changes: boolean[] = [];
  const { authority, ...issuer } = await issued();
  const logger = {
    ...silentLogger,
    error: (message: string, _?: LogFields) => void errors.push(message),
    info: (message: string) => void written.push(message),
  };
  const client = {
    listerWatcher: listerWatcher ?? (() => source),
    apply: async (_: unknown, applied: Configuration) => {
      if (!writes) return await new Promise<never>(() => undefined);
      if (written.length === 0) source.add(applied);
      else source.modify(applied);
      return applied;
    },
  } as unknown as ResourceClient;
  const keeper = new ConfigurationKeeper(kept, {
    client,
    fieldManager: 'test',
    clock,
    logger,
    isLeader,
    refreshedCertificates: async () =>
      writes ? { serving: issuer.serving, bundle: authority } : await new Promise(() => undefined),
    onChange: () => void changes.push(true),
  });
  const stop = new AbortController();
  return { source, clock, errors, written, changes, authority, issuer, keeper, stop };
}

async function issued() {
  const issuer = await createIssuer(undefined, { nowMs, lifetimeMs: 3_600_000 });
  const usage = { commonName: 'x', hosts: ['a.demo.svc'], usage: 'server', nowMs, lifetimeMs: 3_600_000 } as const;
  return { authority: issuer.authority.cert, serving: await issuer.issue(usage) };
}

it('is ready while API servers trust what is served, although they do not yet trust the next authority', async () => {
  const { source, keeper, authority, issuer, stop } = await made();
  const next = await issued();
  source.add(object(authority));
  keeper.start({ serving: issuer.serving, bundle: `${next.authority}${authority}` }, stop.signal);
  await settle();
  expect(keeper.problem).toBeUndefined();
  expect(keeper.trusts(`${next.authority}${authority}`)).toBe(false);
  keeper.use({ serving: next.serving, bundle: next.authority });
  expect(keeper.problem).toContain('lacks the certificate authority');
  stop.abort();
});

it('follows again after an error, and says so', async () => {
  let calls = 0;
  const source = new FakeListerWatcher<Configuration>();
  const { clock, keeper, authority, issuer, stop, errors } = await made({
    listerWatcher: () => {
      if (++calls === 1) throw new Error('the client is not there yet');
      return source;
    },
  });
  source.add(object(authority));
  keeper.start({ serving: issuer.serving, bundle: authority }, stop.signal);
  await settle();
  expect(errors).toEqual(['cannot follow the configuration of webhooks, trying again']);
  expect(keeper.problem).toContain('is not known yet');
  await clock.advance(60_000);
  await settle();
  expect(keeper.problem).toBeUndefined();
  stop.abort();
  await keeper.ended();
});

it.each([
  ['once where it leads from the start', true, 1],
  ['again when it begins to lead later, since another process may have written meanwhile', false, 2],
])('applies what is missing %s', async (_, leadsFromStart, times) => {
  let leads = leadsFromStart;
  const { clock, keeper, authority, issuer, stop, written } = await made({ writes: true, isLeader: () => leads });
  keeper.start({ serving: issuer.serving, bundle: authority }, stop.signal);
  await settle();
  expect(written).toHaveLength(1);
  leads = true;
  keeper.lead();
  await clock.advance(60_000);
  expect(keeper.problem).toBeUndefined();
  expect(written).toHaveLength(times);
  stop.abort();
  await keeper.ended();
});

it('tells of changes only when other authorities are trusted', async () => {
  const { source, keeper, authority, issuer, stop, changes } = await made();
  source.add(object(authority));
  keeper.start({ serving: issuer.serving, bundle: authority }, stop.signal);
  await settle();
  expect(changes).toHaveLength(1);
  source.modify({ ...object(authority), metadata: { name: 'a', labels: { x: 'y' } } });
  await settle();
  expect(changes).toHaveLength(1);
  source.modify(object(''));
  await settle();
  expect(changes).toHaveLength(2);
  stop.abort();
});
