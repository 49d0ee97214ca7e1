import type { UnstructuredObject } from '@kapstan/api';
import { AdmissionChain, type AdmissionChainOptions, type AdmissionPlugin, alwaysAllow } from '@kapstan/apiserver';
import { defaultStrategy } from '@kapstan/apiserver/internal';
import { refusal, StoreFixture, testContext } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AdmissionServer } from '../testing/admission-server.ts';
import { admissionPluginNames, kubernetesAdmission } from './built-in-plugins.ts';

let server: AdmissionServer;
const start = async (options: Partial<AdmissionChainOptions> = { disabled: ['ServiceAccount'] }): Promise<void> => {
  await server.start(options);
  await server.create('namespaces', { name: 'default' });
};
beforeEach(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
});
afterEach(() => server.close());

describe('the admission chain', () => {
  const names = (options: Partial<AdmissionChainOptions>) =>
    new AdmissionChain({ builtIn: kubernetesAdmission, catalog: server.catalog, authorizer: alwaysAllow, ...options })
      .pluginNames;

  it('has the built-in plug-ins in the order of Kubernetes', () => {
    const built = names({});
    expect(built).toEqual(admissionPluginNames.filter((name) => built.includes(name)));
    expect(built).toContain('NamespaceLifecycle');
    const disabled = ['ServiceAccount', 'LimitRanger', 'EventRateLimit'];
    expect(names({ disabled })).toEqual(built.filter((name) => !disabled.includes(name)));
  });

  it('puts plug-ins from elsewhere where their names belong', () => {
    const plugins = [{ name: 'PodNodeSelector' }, { name: 'ImagePolicyWebhook' }];
    const found = names({ plugins });
    const first = found.indexOf('ImagePolicyWebhook') - 1;
    const expected = ['TaintNodesByCondition', 'ImagePolicyWebhook', 'PodSecurity', 'PodNodeSelector', 'Priority'];
    expect(found.slice(first, first + expected.length)).toEqual(expected);
  });

  it.each<[string, readonly unknown[], string]>([
    ['a built-in name', [{ name: 'LimitRanger' }], '"LimitRanger" is built in'],
    ['a built-in name that is off', [{ name: 'AlwaysPullImages' }], '"AlwaysPullImages" is built in'],
    ['one name twice', [{ name: 'Mine' }, { name: 'Other' }, { name: 'Mine' }], '"Mine" is given twice'],
    ['an empty name', [{ name: '' }], 'a plug-in has no name'],
    ['no name', [{}], 'a plug-in has no name'],
  ])('refuses plug-ins from elsewhere with %s', (_which, plugins, message) => {
    const make = () => names({ plugins: plugins as AdmissionPlugin[] });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
    const disabled = ['LimitRanger', 'AlwaysPullImages'];
    expect(() => names({ plugins: plugins as AdmissionPlugin[], disabled })).toThrow(message);
  });

  it('asks only the plug-ins that a resource concerns to validate it', async () => {
    const seen: string[] = [];
    const plugin = {
      name: 'ImagePolicyWebhook',
      validatedResources: ['deployments.apps'],
      validate: ({ resource }: { resource: { resource: string } }) => void seen.push(resource.resource),
    };
    const chain = new AdmissionChain({
      builtIn: kubernetesAdmission,
      catalog: server.catalog,
      authorizer: alwaysAllow,
      plugins: [plugin],
    });
    const deployments = { group: 'apps', version: 'v1', resource: 'deployments' };
    expect([chain.validates(deployments), chain.validates({ group: '', resource: 'deployments' })]).toEqual([
      true,
      false,
    ]);
    const attributes = {
      operation: 'CREATE' as const,
      subresource: '',
      kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
      name: 'd',
      namespace: '',
      object: {},
      oldObject: undefined,
      context: testContext(),
    };
    await chain.validate({ ...attributes, resource: deployments });
    await chain.validate({ ...attributes, resource: { group: '', version: 'v1', resource: 'deployments' } });
    expect(seen).toEqual(['deployments']);
    const everything = new AdmissionChain({
      builtIn: kubernetesAdmission,
      catalog: server.catalog,
      authorizer: alwaysAllow,
      plugins: [{ name: 'ImagePolicyWebhook', validate: () => undefined }],
    });
    expect(everything.validates({ group: '', resource: 'secrets' })).toBe(true);
  });

  it('shows a plug-in from elsewhere copies, so that validating cannot change what is written', async () => {
    const plugin = {
      name: 'ImagePolicyWebhook',
      validate: ({ object }: { object: { metadata?: { name?: string } } | undefined }) => {
        if (object?.metadata !== undefined) object.metadata.name = 'other';
      },
    };
    const chain = new AdmissionChain({
      builtIn: kubernetesAdmission,
      catalog: server.catalog,
      authorizer: alwaysAllow,
      plugins: [plugin],
    });
    const object = { metadata: { name: 'd' } };
    await chain.validate({
      ...{ operation: 'CREATE', subresource: '', name: 'd', namespace: '', context: testContext() },
      ...{
        resource: { group: '', version: 'v1', resource: 'secrets' },
        kind: { group: '', version: 'v1', kind: 'Secret' },
      },
      ...{ object, oldObject: undefined },
    });
    expect(object).toEqual({ metadata: { name: 'd' } });
  });

  it('runs a plug-in of an unknown name before all others', () => {
    expect(names({ plugins: [{ name: 'OwnerLabel' }] }).slice(0, 2)).toEqual(['OwnerLabel', 'NamespaceLifecycle']);
    expect(names({ plugins: [{ name: 'OwnerLabel' }], disabled: ['OwnerLabel'] })).not.toContain('OwnerLabel');
  });

  it('asks a plug-in from elsewhere for its second check, its metrics and whether it is idle', async () => {
    const seen: string[] = [];
    let isIdle = true;
    const plugin = {
      name: 'OwnerLabel',
      get isIdle() {
        return isIdle;
      },
      validate: () => undefined,
      recheck: ({ name }: { name: string }) => void seen.push(name),
      families: () => [{ name: 'own_total', help: 'Own.', type: 'counter' as const, samples: [] }],
    };
    const chain = new AdmissionChain({ catalog: server.catalog, authorizer: alwaysAllow, plugins: [plugin] });
    const secrets = { group: '', version: 'v1', resource: 'secrets' };
    await chain.recheck({
      ...{ operation: 'CREATE', subresource: '', name: 'd', namespace: '', context: testContext() },
      ...{ resource: secrets, kind: { group: '', version: 'v1', kind: 'Secret' }, object: {}, oldObject: undefined },
    });
    expect(seen).toEqual(['d']);
    expect(chain.families().map(({ name }) => name)).toContain('own_total');
    expect(chain.validates(secrets)).toBe(false);
    isIdle = false;
    expect(chain.validates(secrets)).toBe(true);
  });

  it.each<[Partial<AdmissionChainOptions>, string]>([
    [{ enabled: ['Nope'] }, 'enable-admission-plugins plugin "Nope" is unknown'],
    [{ disabled: ['Nope'] }, 'disable-admission-plugins plugin "Nope" is unknown'],
    [
      { enabled: ['ImagePolicyWebhook'] },
      'enable-admission-plugins plugin "ImagePolicyWebhook" is not built in this version',
    ],
    [
      { enabled: ['Priority'], disabled: ['Priority'] },
      '[Priority] in enable-admission-plugins and disable-admission-plugins overlapped',
    ],
  ])('refuses %j', (options, text) => {
    expect(() => names(options)).toThrow(new TypeError(text));
  });
});

describe('NamespaceLifecycle', () => {
  beforeEach(() => start());

  it('refuses objects in a namespace that is not there, whatever the verb that creates', async () => {
    const error = await refusal(server.create('configmaps', { namespace: 'none' }));
    expect(error.status).toMatchObject({
      code: 404,
      reason: 'NotFound',
      message: 'namespaces "none" not found',
      details: { name: 'none', kind: 'namespaces' },
    });
    await server.create('nodes', { name: 'n' });
  });

  it('refuses new objects in a namespace that is being deleted, and lets present ones change and go', async () => {
    await server.create('namespaces', { name: 't' });
    await server.create('configmaps', { name: 'c', namespace: 't' });
    const inside = testContext({ namespace: 't' });
    await server.store('namespaces').delete(testContext({ namespace: '' }), 't', {});
    const error = await refusal(server.create('configmaps', { name: 's', namespace: 't' }));
    expect(error.status).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message:
        'configmaps "s" is forbidden: unable to create new content in namespace t because it is being terminated',
      details: {
        name: 's',
        kind: 'configmaps',
        causes: [
          { reason: 'NamespaceTerminating', message: 'namespace t is being terminated', field: 'metadata.namespace' },
        ],
      },
    });
    const apply = server.store('configmaps').update(inside, {
      name: 'new',
      transform: () => ({ metadata: { name: 'new' } }),
      forceAllowCreate: true,
    });
    expect((await refusal(apply)).code).toBe(403);
    const change = { name: 'c', transform: (object?: UnstructuredObject) => ({ ...object, data: 1 }) };
    expect((await server.store('configmaps').update(inside, change)).created).toBe(false);
    expect((await server.store('configmaps').delete(inside, 'c', {})).deleted).toBe(true);
  });

  it('refuses what is created through a part of an object there', async () => {
    await server.create('namespaces', { name: 't' });
    await server.create('serviceaccounts', { name: 'a', namespace: 't' });
    const inside = testContext({ namespace: 't' });
    const kind = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };
    const store = server.store('serviceaccounts');
    const ask = async () =>
      store.admitPart?.(inside, { operation: 'CREATE', name: 'a', subresource: 'token', kind, object: {} });
    await ask();
    await server.store('namespaces').delete(testContext({ namespace: '' }), 't', {});
    expect((await refusal(ask())).status).toMatchObject({
      code: 403,
      message:
        'serviceaccounts "a" is forbidden: unable to create new content in namespace t because it is being terminated',
      details: { name: 'a', kind: 'serviceaccounts', causes: [{ reason: 'NamespaceTerminating' }] },
    });
  });

  it('asks nothing of reviews of access, whose answers tell nothing of the namespace', async () => {
    const chain = new AdmissionChain({
      builtIn: kubernetesAdmission,
      catalog: server.catalog,
      authorizer: alwaysAllow,
      disabled: ['ServiceAccount'],
    });
    const review = (resource: string) =>
      chain.admit({
        operation: 'CREATE',
        resource: { group: 'authorization.k8s.io', version: 'v1', resource },
        kind: { group: 'authorization.k8s.io', version: 'v1', kind: 'LocalSubjectAccessReview' },
        subresource: '',
        name: '',
        namespace: 'none',
        object: {},
        oldObject: undefined,
        context: testContext({ namespace: 'none' }),
      });
    await review('localsubjectaccessreviews');
    expect((await refusal(review('others'))).message).toBe('namespaces "none" not found');
  });

  it.each(['default', 'kube-system', 'kube-public'])('never lets %s go, not even dry', async (name) => {
    if (name !== 'default') await server.create('namespaces', { name });
    for (const dryRun of [false, true]) {
      const deletion = server.store('namespaces').delete(testContext({ namespace: '', dryRun }), name, {});
      expect((await refusal(deletion)).status).toMatchObject({
        code: 403,
        message: `namespaces "${name}" is forbidden: this namespace may not be deleted`,
        details: { name, kind: 'namespaces' },
      });
    }
  });
});

describe('what pods and nodes get', () => {
  const notReady = {
    key: 'node.kubernetes.io/not-ready',
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  };
  const unreachable = { ...notReady, key: 'node.kubernetes.io/unreachable' };
  beforeEach(() => start());

  it.each<[string, object[], object[]]>([
    ['nothing', [], [notReady, unreachable]],
    ['something else', [{ key: 'k' }], [{ key: 'k' }, notReady, unreachable]],
    [
      'one of the two',
      [{ key: unreachable.key, effect: 'NoExecute' }],
      [{ key: unreachable.key, effect: 'NoExecute' }, notReady],
    ],
    ['everything', [{ operator: 'Exists' }], [{ operator: 'Exists' }]],
    [
      'another effect',
      [{ key: notReady.key, effect: 'NoSchedule' }],
      [{ key: notReady.key, effect: 'NoSchedule' }, notReady, unreachable],
    ],
  ])('tolerations, beside %s', async (_case, tolerations, expected) => {
    const pod = await server.create('pods', { spec: { tolerations } });
    expect((pod.spec as { tolerations: unknown }).tolerations).toEqual(expected);
  });

  it('the priority of their class, of the default class, or 0', async () => {
    const plain = await server.create('pods', { name: 'plain', spec: {} });
    expect(plain.spec).toMatchObject({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' });
    expect(plain.spec).not.toHaveProperty('priorityClassName');
    const group = 'scheduling.k8s.io';
    await server.create('priorityclasses', { group, name: 'high', value: 1000, preemptionPolicy: 'Never' });
    const high = await server.create('pods', { name: 'high', spec: { priorityClassName: 'high' } });
    expect(high.spec).toMatchObject({ priority: 1000, preemptionPolicy: 'Never' });
    await server.create('priorityclasses', { group, name: 'usual', value: 7, globalDefault: true });
    await server.store('priorityclasses', group).list(testContext({ namespace: '' }), {});
    const usual = await server.create('pods', { name: 'usual', spec: {} });
    expect(usual.spec).toMatchObject({ priority: 7, priorityClassName: 'usual' });
    expect(usual.spec).not.toHaveProperty('preemptionPolicy');
  });

  it.each<[object, string]>([
    [{ priorityClassName: 'nothing' }, 'no PriorityClass with name nothing was found'],
    [{ priorityClassName: 'a/b' }, 'no PriorityClass with name a/b was found'],
    [
      { priority: 5 },
      'the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
    ],
    [
      { preemptionPolicy: 'Never' },
      'the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name',
    ],
  ])('no pod with %j', async (spec, text) => {
    const error = await refusal(server.create('pods', { name: '', metadata: { generateName: 'p-' }, spec }));
    expect([error.code, error.message]).toEqual([403, `pods "p-" is forbidden: ${text}`]);
  });

  it('what they had, when an update leaves it out', async () => {
    await server.create('pods', { spec: {} });
    const { stored } = await server.store('pods').update(testContext(), {
      name: 'x',
      transform: () => ({ metadata: { name: 'x' }, spec: {} }),
    });
    expect(stored.object.spec).toMatchObject({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' });
  });

  it('one default class only', async () => {
    const group = 'scheduling.k8s.io';
    await server.create('priorityclasses', { group, name: 'a', value: 1, globalDefault: true });
    await server.store('priorityclasses', group).list(testContext({ namespace: '' }), {});
    const error = await refusal(server.create('priorityclasses', { group, name: 'b', value: 2, globalDefault: true }));
    expect(error.message).toBe(
      'priorityclasses.scheduling.k8s.io "b" is forbidden: PriorityClass a is already marked as default. Only one default can exist',
    );
    const change = { name: 'a', transform: (object?: UnstructuredObject) => ({ ...object, description: 'mine' }) };
    await server.store('priorityclasses', group).update(testContext({ namespace: '' }), change);
  });

  it('a taint until they are ready (nodes)', async () => {
    const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
    expect((await server.create('nodes', { name: 'a' })).spec).toEqual({ taints: [taint] });
    const own = { key: 'k', effect: 'NoSchedule' };
    expect((await server.create('nodes', { name: 'b', spec: { taints: [own] } })).spec).toEqual({
      taints: [own, taint],
    });
    expect((await server.create('nodes', { name: 'c', spec: { taints: [taint] } })).spec).toEqual({ taints: [taint] });
  });
});

describe('default classes', () => {
  beforeEach(() => start());

  it('are given to claims and ingresses that name none', async () => {
    expect(await server.create('persistentvolumeclaims', { name: 'none' })).not.toHaveProperty('spec');
    const group = 'storage.k8s.io';
    const marked = { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } };
    await server.create('storageclasses', { group, name: 'b-old', metadata: marked });
    await server.fixture.clock.advance(5000);
    await server.create('storageclasses', { group, name: 'c', metadata: marked });
    await server.create('storageclasses', { group, name: 'b', metadata: marked });
    await server.create('storageclasses', { group, name: 'a' });
    await server.store('storageclasses', group).list(testContext({ namespace: '' }), {});
    const claim = await server.create('persistentvolumeclaims', { name: 'p', spec: { x: 1 } });
    expect(claim.spec).toEqual({ x: 1, storageClassName: 'b' });
    const named = await server.create('persistentvolumeclaims', { name: 'q', spec: { storageClassName: '' } });
    expect(named.spec).toEqual({ storageClassName: '' });
    const networking = { group: 'networking.k8s.io' };
    const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' };
    await server.create('ingressclasses', { ...networking, name: 'nginx', metadata: { annotations } });
    await server.store('ingressclasses', networking.group).list(testContext({ namespace: '' }), {});
    const ingress = await server.create('ingresses', { ...networking, name: 'i' });
    expect(ingress.spec).toEqual({ ingressClassName: 'nginx' });
    const old = { annotations: { 'kubernetes.io/ingress.class': 'old' } };
    expect(await server.create('ingresses', { ...networking, name: 'j', metadata: old })).not.toHaveProperty('spec');
  });
});

describe('ServiceAccount', () => {
  const path = '/var/run/secrets/kubernetes.io/serviceaccount';
  const token = { name: 'kube-api-access-bbbbb', readOnly: true, mountPath: path };
  beforeEach(() => start({}));

  it('runs a pod as the default account, with its token mounted', async () => {
    await server.create('serviceaccounts', { name: 'default', imagePullSecrets: [{ name: 'pull' }] });
    const mounted = [{ name: 'mine', mountPath: path }];
    const containers = [{ name: 'a' }, { name: 'b', volumeMounts: mounted }];
    const { spec } = await server.create('pods', { spec: { containers, initContainers: [{ name: 'i' }] } });
    expect(spec).toMatchObject({
      serviceAccountName: 'default',
      serviceAccount: 'default',
      imagePullSecrets: [{ name: 'pull' }],
      containers: [
        { name: 'a', volumeMounts: [token] },
        { name: 'b', volumeMounts: mounted },
      ],
      initContainers: [{ name: 'i', volumeMounts: [token] }],
      volumes: [
        {
          name: 'kube-api-access-bbbbb',
          projected: {
            defaultMode: 420,
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
              { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
              {
                downwardAPI: {
                  items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
                },
              },
            ],
          },
        },
      ],
    });
  });

  it('mounts nothing where account or pod say so', async () => {
    await server.create('serviceaccounts', { name: 'quiet', automountServiceAccountToken: false });
    const containers = [{ name: 'a' }];
    const quiet = await server.create('pods', { name: 'q', spec: { serviceAccountName: 'quiet', containers } });
    expect(quiet.spec).not.toHaveProperty('volumes');
    const loud = { serviceAccountName: 'quiet', automountServiceAccountToken: true, containers };
    expect((await server.create('pods', { name: 'l', spec: loud })).spec).toHaveProperty('volumes');
  });

  it('refuses a pod whose account is not there, having waited for the default one', async () => {
    const named = await refusal(server.create('pods', { spec: { serviceAccountName: 'none' } }));
    expect([named.code, named.message]).toEqual([
      403,
      'pods "x" is forbidden: error looking up service account default/none: serviceaccount "none" not found',
    ]);
    const waiting = refusal(server.create('pods', { spec: {} }));
    await waitForTimer();
    await server.fixture.clock.advance(10_000);
    expect((await waiting).message).toContain('error looking up service account default/default');
    const lucky = server.create('pods', { spec: {} });
    await waitForTimer();
    await server.create('serviceaccounts', { name: 'default' });
    await server.fixture.clock.advance(10_000);
    expect((await lucky).spec).toMatchObject({ serviceAccountName: 'default' });
  });

  it('leaves mirror pods alone, which may not name an account', async () => {
    const metadata = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
    expect((await server.create('pods', { metadata, spec: {} })).spec).not.toHaveProperty('serviceAccountName');
    const error = await refusal(server.create('pods', { name: 'y', metadata, spec: { serviceAccountName: 'a' } }));
    expect(error.message).toBe('pods "y" is forbidden: a mirror pod may not reference service accounts');
  });

  async function waitForTimer(): Promise<void> {
    const { clock } = server.fixture;
    for (let turn = 0; (clock.msToNextTimer ?? Infinity) > 200; turn++) {
      if (turn > 1000) throw new Error('no attempt was put off');
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
});

describe('a server without namespaces', () => {
  it('has no life cycle of them', async () => {
    const admission = new AdmissionChain({
      builtIn: kubernetesAdmission,
      catalog: server.catalog,
      authorizer: alwaysAllow,
    });
    const store = server.fixture.store({ strategy: defaultStrategy }, { admission });
    await expect(store.create(testContext(), { metadata: { name: 'a' } })).resolves.toBeDefined();
  });
});
