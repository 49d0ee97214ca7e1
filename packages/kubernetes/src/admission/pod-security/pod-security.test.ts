import type { UnstructuredObject } from '@kapstan/api';
import { ObjectReader, type RequestContext } from '@kapstan/apiserver';
import { StoreFixture, testContext } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AdmissionServer, objection, testAttributes } from '../../testing/admission-server.ts';
import { PodSecurity } from './pod-security.ts';
import { defaultPodSecurity, type PodSecurityConfiguration } from './pod-security-configuration.ts';

const prefix = 'pod-security.kubernetes.io/';
const onHost = { hostPID: true, containers: [{ name: 'c', image: 'i' }] };
const hostDetail = 'host namespaces (hostPID=true)';
const exempting: PodSecurityConfiguration = {
  defaults: defaultPodSecurity.defaults,
  exemptions: {
    namespaces: new Set(['free']),
    usernames: new Set(['root']),
    runtimeClasses: new Set(['sandbox']),
  },
};
let server: AdmissionServer;
let plugin: PodSecurity;
let warnings: string[];
let notes: Record<string, string>;

beforeAll(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
  await server.start({ disabled: ['ServiceAccount', 'DefaultTolerationSeconds', 'Priority'] });
  const namespaces: Readonly<Record<string, Record<string, string>>> = {
    open: {},
    base: { enforce: 'baseline' },
    told: { warn: 'baseline', audit: 'baseline' },
    broken: { enforce: 'strict' },
    free: { enforce: 'baseline' },
  };
  for (const [name, labels] of Object.entries(namespaces)) {
    // A label that cannot be read may be older than the plug-in.
    const key = name === 'broken' ? 'enforce-later' : undefined;
    const prefixed = Object.fromEntries(Object.entries(labels).map(([mode, level]) => [prefix + (key ?? mode), level]));
    await server.create('namespaces', { name, metadata: { labels: prefixed } });
  }
  await server.create('pods', { name: 'old', namespace: 'open', spec: onHost });
});
afterAll(() => server.close());
beforeEach(() => {
  warnings = [];
  notes = {};
  plugin = pluginWith(exempting);
});

function pluginWith(configuration: PodSecurityConfiguration): PodSecurity {
  const reader = new ObjectReader(server.catalog);
  return new PodSecurity({ reader, clock: server.fixture.clock, configuration });
}

function context(user = 'alice'): RequestContext {
  return {
    ...testContext(),
    user: { name: user, groups: [] },
    warn: (text) => void warnings.push(text),
    annotate: (key, value) => {
      notes[key.replace(prefix, '')] = value;
    },
  };
}

const pods = { group: '', version: 'v1', resource: 'pods' };

function ask(namespace: string, spec: object, changes: Partial<Parameters<typeof testAttributes>[0]> = {}) {
  const object = { metadata: { name: 'x' }, spec } as UnstructuredObject;
  const attributes = { operation: 'CREATE', resource: pods, namespace, object, context: context() } as const;
  return objection(() => plugin.validate(testAttributes({ ...attributes, ...changes })));
}

describe('a pod', () => {
  it('is refused by the policy of its namespace', async () => {
    expect(await ask('base', onHost)).toEqual([
      403,
      `pods "x" is forbidden: violates PodSecurity "baseline:latest": ${hostDetail}`,
    ]);
    expect([warnings, notes]).toEqual([[], { 'enforce-policy': 'baseline:latest' }]);
  });

  it('is let in where no label asks for anything', async () => {
    expect(await ask('open', onHost)).toBeUndefined();
    expect([warnings, notes]).toEqual([[], { 'enforce-policy': 'privileged:latest' }]);
  });

  it('is warned of and noted, and let in', async () => {
    expect(await ask('told', onHost)).toBeUndefined();
    const text = `would violate PodSecurity "baseline:latest": ${hostDetail}`;
    expect(warnings).toEqual([text]);
    expect(notes).toEqual({ 'enforce-policy': 'privileged:latest', 'audit-violations': text });
  });

  it('is an error of the server in a namespace that nobody knows', async () => {
    const text = 'Internal error occurred: failed to lookup namespace "none"';
    expect(await ask('none', onHost)).toEqual([500, text]);
    expect(notes).toEqual({ error: text });
  });

  it.each([
    ['status', undefined],
    ['exec', undefined],
    ['binding', undefined],
    ['ephemeralcontainers', 403],
    ['resize', 403],
  ])('is looked at by its subresource %s: %s', async (subresource, code) => {
    expect((await ask('base', onHost, { subresource }))?.[0]).toBe(code);
  });

  const container = { name: 'c', image: 'i' };
  it.each<[string, object, object, number | undefined]>([
    ['labels alone', onHost, onHost, undefined],
    ['an image', { ...onHost, containers: [{ ...container, image: 'j' }] }, onHost, 403],
    ['the image of an init container', { ...onHost, initContainers: [container] }, onHost, 403],
    ['an ephemeral container', { ...onHost, ephemeralContainers: [container] }, onHost, 403],
    ['one ephemeral container less', onHost, { ...onHost, ephemeralContainers: [container] }, undefined],
    [
      'the order of ephemeral containers',
      { ...onHost, ephemeralContainers: [container, { ...container, name: 'd' }] },
      { ...onHost, ephemeralContainers: [{ ...container, name: 'd' }, container] },
      undefined,
    ],
  ])('that changes %s is looked at again only when another image runs', async (_what, next, old, code) => {
    const oldObject = { metadata: { name: 'x' }, spec: old } as UnstructuredObject;
    expect((await ask('base', next, { operation: 'UPDATE', oldObject }))?.[0]).toBe(code);
  });

  it.each<[string, string, object, string]>([
    ['free', 'alice', {}, 'namespace'],
    ['base', 'root', {}, 'user'],
    ['base', 'alice', { runtimeClassName: 'sandbox' }, 'runtimeClass'],
  ])('in namespace %s of user %s with %j is exempt', async (namespace, user, more, reason) => {
    expect(await ask(namespace, { ...onHost, ...more }, { context: context(user) })).toBeUndefined();
    expect(notes).toEqual({ exempt: reason });
  });
});

describe('a kind that makes pods', () => {
  const deployments = { group: 'apps', version: 'v1', resource: 'deployments' };
  const template = { spec: onHost };

  it.each<[string, object]>([
    ['deployments', { spec: { template } }],
    ['cronjobs', { spec: { jobTemplate: { spec: { template } } } }],
    ['podtemplates', { template }],
  ])('is warned of, not refused: %s', async (resource, object) => {
    const group = { deployments: 'apps', cronjobs: 'batch' }[resource] ?? '';
    expect(await ask('base', {}, { resource: { group, version: 'v1', resource }, object })).toBeUndefined();
    expect(warnings).toEqual([`would violate PodSecurity "baseline:latest": ${hostDetail}`]);
  });

  it.each<[string, object, string]>([
    ['without a template', { spec: {} }, ''],
    ['about a subresource', { spec: { template } }, 'status'],
  ])('passes %s', async (_what, object, subresource) => {
    expect(
      await ask('base', {}, { resource: deployments, object: object as UnstructuredObject, subresource }),
    ).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  it('passes in a namespace that nobody knows', async () => {
    const object: UnstructuredObject = { spec: { template } };
    expect(await ask('none', {}, { resource: deployments, object })).toBeUndefined();
    expect(notes.error).toContain('failed to lookup namespace "none"');
  });
});

describe('a namespace', () => {
  const resource = { group: '', version: 'v1', resource: 'namespaces' };
  const kind = { group: '', version: 'v1', kind: 'Namespace' };

  function label(labels: Record<string, string>, old: Record<string, string> | undefined, name = 'base') {
    const withLabels = (given: Record<string, string>): UnstructuredObject => ({
      metadata: {
        name,
        labels: Object.fromEntries(Object.entries(given).map(([key, value]) => [prefix + key, value])),
      },
    });
    const operation = old === undefined ? 'CREATE' : 'UPDATE';
    const oldObject = old && withLabels(old);
    const attributes = {
      operation,
      resource,
      kind,
      name,
      namespace: name,
      object: withLabels(labels),
      oldObject,
    } as const;
    return objection(() => plugin.validate(testAttributes({ ...attributes, context: context() })));
  }

  const fault = `${prefix}enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted`;
  it.each<[Record<string, string> | undefined, boolean]>([
    [undefined, true],
    [{}, true],
    [{ enforce: 'lax' }, true],
    [{ enforce: 'strict' }, false],
  ])('with a wrong label after %j is refused: %s', async (old, isRefused) => {
    const expected = [422, `Namespace "base" is invalid: metadata.labels[${fault}`];
    expect(await label({ enforce: 'strict' }, old)).toEqual(isRefused ? expected : undefined);
  });

  it('that becomes stricter warns of the pods in it', async () => {
    await label({ enforce: 'baseline' }, {}, 'open');
    expect(warnings).toEqual([
      'existing pods in namespace "open" violate the new PodSecurity enforce level "baseline:latest"',
      'old: host namespaces',
    ]);
  });

  it('that gets another version of its level warns of the pods in it', async () => {
    await label({ enforce: 'baseline', 'enforce-version': 'v1.20' }, { enforce: 'baseline' }, 'open');
    expect(warnings).toHaveLength(2);
  });

  it.each<[Record<string, string>, Record<string, string>]>([
    [{ enforce: 'baseline' }, { enforce: 'restricted' }],
    [{ enforce: 'privileged' }, { enforce: 'baseline' }],
    [{ enforce: 'baseline', warn: 'restricted' }, { enforce: 'baseline' }],
    [{ enforce: 'privileged', 'enforce-version': 'v1.20' }, {}],
  ])('that becomes %j after %j warns of nothing', async (labels, old) => {
    await label(labels, old, 'open');
    expect(warnings).toEqual([]);
  });

  it('that is exempt is told that its labels have no effect', async () => {
    await label({ enforce: 'baseline', 'audit-version': 'v1.3', warn: 'restricted' }, undefined, 'free');
    const shown = 'enforce=baseline:latest, warn=restricted:latest';
    expect(warnings).toEqual([
      `namespace "free" is exempt from Pod Security, and the policy (${shown}) will be ignored`,
    ]);
    warnings.length = 0;
    await label({ enforce: 'privileged' }, { enforce: 'baseline' }, 'free');
    expect(warnings).toEqual([]);
  });
});

it('decisions are counted, those of later versions together', async () => {
  const counted = pluginWith(exempting);
  plugin = counted;
  await ask('base', onHost);
  await ask('base', onHost);
  await ask('told', onHost);
  await ask('free', onHost);
  await ask('none', onHost);
  const samples = Object.fromEntries(
    counted
      .families()
      .map(({ name, samples }) => [
        name,
        samples.map(({ labels, value }) => `${Object.values(labels ?? {}).join(' ')} ${value}`),
      ]),
  );
  expect(samples).toEqual({
    pod_security_evaluations_total: [
      'deny baseline latest enforce create pod  2',
      'allow privileged latest enforce create pod  1',
      'deny baseline latest audit create pod  1',
      'deny baseline latest warn create pod  1',
    ],
    pod_security_exemptions_total: ['create pod  1'],
    pod_security_errors_total: ['true create pod  1'],
  });
});
