import { VirtualClock } from '@kapstan/api/testing';
import { AdmissionChain, alwaysAllow, parseAdmissionConfiguration, ResourceCatalog } from '@kapstan/apiserver';
import { testContext } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import { objection, testAttributes } from '../testing/admission-server.ts';
import { kubernetesAdmission } from './built-in-plugins.ts';
import { parseEventLimits } from './event-rate-limit/event-limits.ts';
import { EventRateLimit } from './event-rate-limit/event-rate-limit.ts';
import { parsePodSecurity } from './pod-security/pod-security-configuration.ts';
import { parseLimitedResources } from './resource-quota/limited-resources.ts';

const registered = 'in scheme "pkg/runtime/scheme.go:111"';
const admission = (rest: string): string =>
  `apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n${rest}`;
const ofPodSecurity = (rest: object): string =>
  JSON.stringify({ apiVersion: 'pod-security.admission.config.k8s.io/v1', kind: 'PodSecurityConfiguration', ...rest });
const ofQuota = (rest: object): string =>
  JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'ResourceQuotaConfiguration', ...rest });
const ofEvents = (rest: object): string =>
  JSON.stringify({ apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1', kind: 'Configuration', ...rest });
const chainWith = (name: string, text: string, enabled: string[] = []): AdmissionChain =>
  new AdmissionChain({
    catalog: new ResourceCatalog(),
    authorizer: alwaysAllow,
    builtIn: kubernetesAdmission,
    configurations: new Map([[name, text]]),
    enabled,
  });

describe('the file of configurations', () => {
  it('holds them, or says where they are; the first of a plug-in counts', () => {
    const plugins =
      'plugins:\n- {name: A, path: a.yaml}\n- {name: A, path: b.yaml}\n- {name: B, configuration: {kind: X}}\n- {name: C}\n';
    expect(parseAdmissionConfiguration(admission(plugins))).toEqual([
      { name: 'A', path: 'a.yaml' },
      { name: 'B', text: '{"kind":"X"}' },
    ]);
    expect(parseAdmissionConfiguration(admission(''))).toEqual([]);
  });

  // Recorded from kube-apiserver 1.36.
  it.each([
    ['apiVersion: v1\nkind: Foo\n', `no kind "Foo" is registered for version "v1" ${registered}`],
    [
      admission('plugins: 5'),
      'json: cannot unmarshal number into Go struct field AdmissionConfiguration.plugins of type []v1.AdmissionPluginConfiguration',
    ],
    ['', "Object 'Kind' is missing in ''"],
    ['kind: AdmissionConfiguration\n', "Object 'apiVersion' is missing in 'kind: AdmissionConfiguration\n'"],
    [admission('pluginz: []\n'), 'strict decoding error: unknown field "pluginz"'],
  ])('%j is refused with the reason', (text, why) => {
    expect(() => parseAdmissionConfiguration(text)).toThrow(expect.objectContaining({ message: why }));
  });
});

describe('the configuration of a plug-in', () => {
  it.each([
    [
      'PodSecurity',
      ofPodSecurity({ defaults: { enforce: 'bad', 'enforce-version': 'v1.x' } }),
      'PodSecurity configuration error: [enforce: must be one of privileged, baseline, restricted, enforce-version: must be "latest" or "v1.x"]',
    ],
    ['PodSecurity', ofPodSecurity({ defaultz: {} }), 'strict decoding error: unknown field "defaultz"'],
    [
      'PodSecurity',
      '{"kind":"PodSecurityConfiguration"}',
      `Object 'apiVersion' is missing in '{"kind":"PodSecurityConfiguration"}'`,
    ],
    [
      'PodSecurity',
      '{"apiVersion":"pod-security.admission.config.k8s.io/v9","kind":"PodSecurityConfiguration"}',
      `no kind "PodSecurityConfiguration" is registered for version "pod-security.admission.config.k8s.io/v9" ${registered}`,
    ],
    [
      'ResourceQuota',
      ofQuota({ limitedResources: [{ matchContains: ['a'] }] }),
      'limitedResources[0].resource: Required value',
    ],
    [
      'ResourceQuota',
      '{"apiVersion":"resourcequota.admission.k8s.io/v1beta1","kind":"Configuration","limitedResources":[{"resource":"pods","foo":1,"matchScopes":[{"scopeName":"PriorityClass","operator":"In","x":1}]}]}',
      'strict decoding error: unknown field "limitedResources[0].foo", unknown field "limitedResources[0].matchScopes[0].x"',
    ],
    [
      'EventRateLimit',
      ofEvents({
        limits: [
          { type: 'Foo', qps: 0, burst: -1, cacheSize: -1, zzz: 1 },
          { type: 'Server', qps: 1, burst: 1, cacheSize: -1 },
        ],
      }),
      '[limits[0].type: Unsupported value: "Foo": supported values: "Server", "Namespace", "User", "SourceAndObject", limits[0].burst: Invalid value: -1: must be positive, limits[0].qps: Invalid value: 0: must be positive, limits[0].cacheSize: Invalid value: -1: must not be negative]',
    ],
    ['EventRateLimit', ofEvents({}), 'limits: Invalid value: null: must not be empty'],
    [
      'MutatingAdmissionWebhook',
      '{"apiVersion":"apiserver.config.k8s.io/v1","kind":"WebhookAdmissionConfiguration","kubeConfigFile":"/nope","x":1}',
      'strict decoding error: unknown field "x"',
    ],
    [
      'ValidatingAdmissionWebhook',
      '{"apiVersion":"apiserver.config.k8s.io/v1","kind":"WebhookAdmissionConfiguration","kubeConfigFile":"/etc/webhooks"}',
      'kubeConfigFile: Forbidden: is not supported by this server',
    ],
  ])('%s is refused with the reason: %j', (name, text, why) => {
    expect(() => chainWith(name, text)).toThrow(new TypeError(`couldn't init admission plugin "${name}": ${why}`));
  });

  it('belongs to a plug-in that has one', () => {
    expect(() => chainWith('NamespaceLifecycle', '{}')).toThrow(
      new TypeError(
        'admission control configuration: plugin "NamespaceLifecycle" cannot be configured in this version',
      ),
    );
    expect(() => chainWith('Foo', '{}')).toThrow(
      new TypeError('admission control configuration: plugin "Foo" is unknown'),
    );
  });

  it('is needed for events that are limited', () => {
    const options = { catalog: new ResourceCatalog(), authorizer: alwaysAllow, builtIn: kubernetesAdmission };
    expect(() => new AdmissionChain({ ...options, enabled: ['EventRateLimit'] })).toThrow(
      `couldn't init admission plugin "EventRateLimit": limits: Invalid value: null: must not be empty`,
    );
    const limits = ofEvents({ limits: [{ type: 'Server', qps: 1, burst: 1 }] });
    expect(chainWith('EventRateLimit', limits, ['EventRateLimit']).pluginNames).toContain('EventRateLimit');
  });

  it('says what holds for namespaces without labels, and who is exempt', () => {
    const exemptions = { usernames: ['root'], namespaces: ['open'], runtimeClasses: ['vm'] };
    const text = ofPodSecurity({ defaults: { enforce: 'baseline', 'warn-version': 'v1.30' }, exemptions });
    expect(parsePodSecurity(text)).toEqual({
      defaults: {
        enforce: { level: 'baseline', version: 'latest' },
        audit: { level: 'privileged', version: 'latest' },
        warn: { level: 'privileged', version: 30 },
      },
      exemptions: { usernames: new Set(['root']), namespaces: new Set(['open']), runtimeClasses: new Set(['vm']) },
    });
    const limitedResources = [{ resource: 'pods', matchContains: ['cpu'] }];
    expect(parseLimitedResources(ofQuota({ limitedResources }))).toEqual([
      { apiGroup: '', resource: 'pods', matchContains: ['cpu'], matchScopes: [] },
    ]);
    expect(parseEventLimits(ofEvents({ limits: [{ type: 'User', qps: 2, burst: 3 }] }))).toEqual([
      { type: 'User', qps: 2, burst: 3, cacheSize: 4096 },
    ]);
  });
});

describe('events that come too fast', () => {
  const clock = new VirtualClock();
  const event = (involvedObject: object = {}) =>
    testAttributes({
      operation: 'CREATE',
      kind: { group: '', version: 'v1', kind: 'Event' },
      resource: { group: '', version: 'v1', resource: 'events' },
      object: { source: { component: 'c', host: 'h' }, involvedObject } as object,
    });

  it('are refused until their bucket has a token again', async () => {
    const limits = new EventRateLimit([{ type: 'Namespace', qps: 1, burst: 2, cacheSize: 5 }], clock);
    const ask = () => objection(() => limits.validate(event()));
    expect([await ask(), await ask()]).toEqual([undefined, undefined]);
    expect(await ask()).toEqual([429, 'Too many requests: limit reached on type Namespace for key default']);
    await clock.advance(1_000);
    expect(await ask()).toBeUndefined();
    expect(limits.validate({ ...event(), context: testContext({ dryRun: true }) })).toBeUndefined();
    expect(limits.validate(testAttributes({ operation: 'CREATE' }))).toBeUndefined();
  });

  it('are told of all limits, and count by source and object; the least recent bucket is dropped', async () => {
    const limit = { type: 'SourceAndObject', qps: 1, burst: 1, cacheSize: 2 } as const;
    const limits = new EventRateLimit(
      [limit, { ...limit, type: 'User' }, { ...limit, type: 'Server', burst: 100 }],
      clock,
    );
    const ask = (kind: string) =>
      objection(() => limits.validate(event({ kind, namespace: 'n', name: 'x', uid: 'u', apiVersion: 'v1' })));
    expect(await ask('A')).toBeUndefined();
    expect((await ask('A'))?.[1]).toMatch(
      /^Too many requests: \[limit reached on type SourceAndObject for key chAnxuv1, limit reached on type User for key .+\]$/,
    );
    const only = new EventRateLimit([limit], clock);
    const askOnly = (kind: string) => objection(() => only.validate(event({ kind })));
    for (const kind of ['A', 'B', 'C']) expect(await askOnly(kind)).toBeUndefined();
    expect((await askOnly('C'))?.[0]).toBe(429);
    expect(await askOnly('A')).toBeUndefined();
  });
});
