import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { authorizationSettingsOf } from '../authorization/authorization-settings.ts';
import { toOptions } from '../serve.ts';
import { formatFlags, UsageError } from './flag-set.ts';
import { parseServeFlags, serveFlags } from './serve-flags.ts';
import { unsupportedFlags } from './unsupported-flags.ts';

const backends =
  "--storage-backend invalid, allowed values: lmdb, etcd3. If not specified, it will default to 'etcd3' with --etcd-servers, else to 'lmdb'";
const unsupported = 'is not supported by this version of kapstan';

describe('parseServeFlags', () => {
  it('has the defaults of the documentation', () => {
    const flags = parseServeFlags([]);
    expect(flags).toMatchObject({
      'bind-address': '127.0.0.1',
      'secure-port': 6443,
      'data-dir': '.kapstan',
      'storage-backend': 'default',
      'etcd-servers': [],
      'etcd-compaction-interval': 300_000,
      'watch-cache': true,
      'default-watch-cache-size': 100,
      'allow-privileged': true,
      'etcd-servers-overrides': [],
      'etcd-count-metric-poll-period': 60_000,
      'etcd-db-metric-poll-interval': 30_000,
      'etcd-healthcheck-timeout': 2_000,
      'etcd-readycheck-timeout': 2_000,
      'lease-reuse-duration-seconds': 60,
      'encryption-provider-config': '',
      'storage-initialization-timeout': 60_000,
      'enable-priority-and-fairness': true,
      'max-requests-inflight': 400,
      'max-mutating-requests-inflight': 200,
      'request-timeout': 60_000,
      'min-request-timeout': 1_800,
      'goaway-chance': 0,
      'livez-grace-period': 0,
      'shutdown-delay-duration': 0,
      'shutdown-send-retry-after': false,
      'shutdown-watch-termination-grace-period': 0,
      'control-loops': ['*'],
      'event-ttl': 3_600_000,
      'authorization-mode': ['RBAC'],
    });
  });

  it('takes authorization modes in the order given, in one use or in several', () => {
    const modes = (...args: string[]) => parseServeFlags(args)['authorization-mode'];
    expect(modes('--authorization-mode=AlwaysAllow')).toEqual(['AlwaysAllow']);
    expect(modes('--authorization-mode=AlwaysAllow,RBAC')).toEqual(['AlwaysAllow', 'RBAC']);
    expect(modes('--authorization-mode=RBAC', '--authorization-mode=AlwaysAllow')).toEqual(['RBAC', 'AlwaysAllow']);
  });

  it('reads values after = and after a space, and booleans bare or with a value', () => {
    const flags = parseServeFlags([
      '--secure-port',
      '0',
      '--data-dir=/x',
      '--watch-cache=false',
      '--anonymous-auth',
      '--event-ttl=1h30m',
    ]);
    expect(flags['secure-port']).toBe(0);
    expect(flags['data-dir']).toBe('/x');
    expect(flags['watch-cache']).toBe(false);
    expect(flags['anonymous-auth']).toBe(true);
    expect(flags['event-ttl']).toBe(5_400_000);
  });

  it.each([
    [['--delete-collection-workers=0'], 'delete-collection-workers', 1],
    [['--delete-collection-workers=-5'], 'delete-collection-workers', 1],
    [['--delete-collection-workers=7'], 'delete-collection-workers', 7],
    [['--goaway-chance=.001'], 'goaway-chance', 0.001],
    [['--goaway-chance=2e-2'], 'goaway-chance', 0.02],
    [['--request-timeout=1m30s'], 'request-timeout', 90_000],
    [['--etcd-count-metric-poll-period=0'], 'etcd-count-metric-poll-period', 0],
    [['--etcd-db-metric-poll-interval=1m'], 'etcd-db-metric-poll-interval', 60_000],
    [['--lease-reuse-duration-seconds=0'], 'lease-reuse-duration-seconds', 0],
  ] as const)('reads %j', (args, name, value) => {
    expect(parseServeFlags(args)[name]).toBe(value);
  });

  it.each([
    [
      ['--etcd-servers=http://a:1', '--etcd-servers=http://b:2,http://c:3'],
      'etcd-servers',
      'http://a:1 http://b:2 http://c:3',
    ],
    [['--api-audiences=a', '--api-audiences=b,c'], 'api-audiences', 'a b c'],
    [
      ['--service-account-issuer=https://a', '--service-account-issuer', 'b,c'],
      'service-account-issuer',
      'https://a b,c',
    ],
    [['--service-account-key-file=a', '--service-account-key-file=b'], 'service-account-key-file', 'a b'],
  ] as const)('adds up the uses of %j', (args, name, value) => {
    expect(parseServeFlags(args)[name].join(' ')).toBe(value);
  });

  it('takes the last of several uses of a flag with one value', () => {
    expect(parseServeFlags(['--secure-port=1', '--secure-port=2'])['secure-port']).toBe(2);
  });

  it('reads the keys of service accounts from the files that are named, and all else about their tokens', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kapstan-flags-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const name of ['sign', 'a', 'b']) await writeFile(join(folder, name), `the ${name}`);
    const args = [
      `--service-account-signing-key-file=${folder}/sign`,
      `--service-account-key-file=${folder}/a`,
      `--service-account-key-file=${folder}/b`,
      '--service-account-issuer=https://x',
      '--service-account-issuer=old',
      '--api-audiences=y,z',
    ];
    expect((await toOptions(parseServeFlags(args))).serviceAccounts).toEqual({
      signingKey: 'the sign',
      verificationKeys: ['the a', 'the b'],
      issuers: ['https://x', 'old'],
      apiAudiences: ['y', 'z'],
    });
    const missing = toOptions(parseServeFlags([`--service-account-key-file=${folder}/c`]));
    await expect(missing).rejects.toThrow(/^--service-account-key-file: ENOENT/);
  });

  it.each([
    [[], { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }],
    [
      ['--leader-elect-lease-duration=9s', '--leader-elect-renew-deadline=6s', '--leader-elect-retry-period=1s'],
      { leaseDurationMs: 9_000, renewDeadlineMs: 6_000, retryPeriodMs: 1_000 },
    ],
    [['--leader-elect=false'], 'off'],
  ] as const)('elects a leader as %j say', async (args, leaderElection) => {
    expect((await toOptions(parseServeFlags(args))).leaderElection).toEqual(leaderElection);
  });

  it.each([['--v=4'], ['-v=4'], ['--v', '4'], ['-v', '4']])('reads how much to log from %s %s', (...args) => {
    expect(parseServeFlags(args.filter((arg) => arg !== undefined)).v).toBe(4);
  });

  it('has no flag that it also refuses', () => {
    expect(Object.keys(serveFlags).filter((name) => unsupportedFlags.has(name))).toEqual([]);
  });

  it('shows its defaults as one would write them', () => {
    const help = formatFlags(serveFlags);
    for (const line of [
      '--event-ttl (default 1h)',
      '--request-timeout (default 1m)',
      '--etcd-compaction-interval (default 5m)',
    ])
      expect(help).toContain(`  ${line}\n`);
    for (const name of ['watch-cache-sizes', 'storage-backend', 'storage-media-type'])
      expect(help).toContain(`  --${name}\n`);
    expect(help).toContain('  --livez-grace-period (default 0s)\n');
  });

  it('become the options of a control plane', async () => {
    const args = [
      '--watch-cache-sizes=pods#7',
      '--default-watch-cache-size=8',
      '--lease-reuse-duration-seconds=9',
      '--etcd-count-metric-poll-period=10s',
      '--etcd-db-metric-poll-interval=11s',
      '--etcd-compaction-interval=12s',
      '--request-timeout=13s',
      '--min-request-timeout=14',
      '--goaway-chance=0.015',
      '--delete-collection-workers=16',
      '--max-requests-inflight=17',
      '--max-mutating-requests-inflight=18',
      '--storage-initialization-timeout=19s',
      '--storage-media-type=application/yaml',
      '--etcd-prefix=/x',
      '--quota-backend-bytes=23000000',
      '--livez-grace-period=20s',
      '--shutdown-delay-duration=21s',
      '--shutdown-send-retry-after',
      '--shutdown-watch-termination-grace-period=22s',
    ];
    expect(await toOptions(parseServeFlags(args))).toMatchObject({
      watchCache: { isEnabled: true, defaultSize: 8, sizes: new Map([['pods', 7]]) },
      leaseReuseSeconds: 9,
      countPollMs: 10_000,
      sizePollMs: 11_000,
      compactionIntervalMs: 12_000,
      requestTimeoutMs: 13_000,
      minWatchMs: 14_000,
      goawayChance: 0.015,
      deleteCollectionWorkers: 16,
      maxRequestsInflight: 17,
      maxMutatingRequestsInflight: 18,
      storageInitializationTimeoutMs: 19_000,
      storageMediaType: 'application/yaml',
      keyPrefix: '/x',
      quotaBytes: 23_000_000,
      livezGraceMs: 20_000,
      shutdown: { delayMs: 21_000, sendsRetryAfter: true, watchGraceMs: 22_000 },
    });
  });

  it.each([
    [[], ['RBAC'], true],
    [['--anonymous-auth=false'], ['RBAC'], false],
    [['--authorization-mode=AlwaysAllow'], ['AlwaysAllow'], false],
    [['--authorization-mode=RBAC,AlwaysAllow', '--anonymous-auth'], ['RBAC', 'AlwaysAllow'], false],
  ])('of %j let nobody in without a name where everybody may do everything', async (args, authorization, isAllowed) => {
    const options = await toOptions(parseServeFlags(args));
    expect([authorizationSettingsOf(options.authorization).modes, options.isAnonymousAllowed]).toEqual([
      authorization,
      isAllowed,
    ]);
  });

  it('read what kubelets are shown and trusted with, and how they are looked for', async () => {
    const defaults = await toOptions(parseServeFlags([]));
    expect(defaults.endpointReconciler).toBe('lease');
    expect(defaults.kubelet).toEqual({
      addressTypes: ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'],
      timeoutMs: 5_000,
    });
    const directory = await mkdtemp(join(tmpdir(), 'kapstan-kubelet-'));
    const file = async (name: string): Promise<string> => {
      await writeFile(join(directory, name), name);
      return join(directory, name);
    };
    const args = [
      `--kubelet-client-certificate=${await file('cert')}`,
      `--kubelet-client-key=${await file('key')}`,
      `--kubelet-certificate-authority=${await file('ca')}`,
      '--kubelet-preferred-address-types=InternalIP,Hostname',
      '--kubelet-timeout=2s',
      '--endpoint-reconciler-type=none',
    ];
    const options = await toOptions(parseServeFlags(args));
    expect(options.endpointReconciler).toBe('none');
    expect(options.kubelet).toEqual({
      clientCert: 'cert',
      clientKey: 'key',
      ca: 'ca',
      addressTypes: ['InternalIP', 'Hostname'],
      timeoutMs: 2_000,
    });
    await rm(directory, { recursive: true });
    const missing = toOptions(parseServeFlags(['--kubelet-certificate-authority=/nowhere/ca']));
    await expect(missing).rejects.toThrow('--kubelet-certificate-authority');
  });

  it('tells all that is wrong together, once', () => {
    const args = [
      '--storage-backend=etcd3',
      '--max-requests-inflight=-1',
      '--secure-port=70000',
      '--enable-admission-plugins=NoSuch,ImagePolicyWebhook,NoSuch',
      '--egress-selector-config-file=x',
      '--allow-metric-labels',
      '--tls-cert-file=a.crt',
      '--encryption-provider-config-automatic-reload',
    ];
    const texts = [
      '--allow-metric-labels is not supported by this version of kapstan',
      '--egress-selector-config-file is not supported by this version of kapstan',
      'invalid value "70000" for --secure-port: must be a whole number from 0 to 65535',
      '--max-requests-inflight can not be negative value',
      '--etcd-servers must be specified',
      '--tls-cert-file and --tls-private-key-file must be specified together',
      '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
      'enable-admission-plugins plugin "NoSuch" is unknown',
      'enable-admission-plugins plugin "ImagePolicyWebhook" is not built in this version',
    ];
    let told = '';
    try {
      parseServeFlags(args);
    } catch (error) {
      told = (error as Error).message;
    }
    expect(told).toBe(`[${texts.join(', ')}]`);
  });

  it.each<[string[], string]>([
    [
      ['--egress-selector-config-file=x', '--secure-port=abc', '--bogus', '--event-ttl=zz'],
      'invalid value "abc" for --secure-port: must be a whole number from 0 to 65535',
    ],
    [['--max-requests-inflight=-1', '--bogus', '--secure-port=abc'], 'unknown flag: --bogus'],
    [['--egress-selector-config-file', 'x', 'y', '--bogus'], 'unexpected argument: y'],
    [
      ['--watch-cache', '--event-ttl', '-x'],
      'invalid value "-x" for --event-ttl: must be a duration such as 90s or 1h30m',
    ],
  ])('stops at the first of %s that cannot be read', (args, message) => {
    expect(() => parseServeFlags(args)).toThrow(new UsageError(message));
  });

  it('takes the garbage collector off with the finalizers that it would have to remove', () => {
    const flags = parseServeFlags(['--enable-garbage-collector=false']);
    expect(flags['enable-garbage-collector']).toBe(false);
    expect(flags['control-loops']).toEqual(['*']);
  });

  it('reads watch cache sizes by group resource', () => {
    const flags = parseServeFlags(['--watch-cache-sizes=pods#1000,deployments.apps#0']);
    expect([...flags['watch-cache-sizes']]).toEqual([
      ['pods', 1000],
      ['deployments.apps', 0],
    ]);
  });

  const refused: readonly (readonly [string[], string])[] = [
    [['--no-such-flag'], 'unknown flag: --no-such-flag'],
    [['--no-such-flag=1'], 'unknown flag: --no-such-flag'],
    [['pods'], 'unexpected argument: pods'],
    [
      ['--control-loops=namespace,deployment'],
      'invalid value "namespace,deployment" for --control-loops: "deployment" is not in the list of known controllers',
    ],
    [
      ['--control-loops=garbagecollector', '--enable-garbage-collector=false'],
      'invalid value "garbagecollector" for --control-loops: "garbage-collector-controller" cannot run where the garbage collector is disabled',
    ],
    [['--data-dir'], 'flag needs an argument: --data-dir'],
    [['--secure-port=70000'], 'invalid value "70000" for --secure-port: must be a whole number from 0 to 65535'],
    [['--bind-address=300.1.1.1'], 'invalid value "300.1.1.1" for --bind-address: failed to parse IP: "300.1.1.1"'],
    [['--bind-address=localhost'], 'invalid value "localhost" for --bind-address: failed to parse IP: "localhost"'],
    [['--advertise-address='], 'invalid value "" for --advertise-address: failed to parse IP: ""'],
    [['--secure-port=x'], 'invalid value "x" for --secure-port: must be a whole number from 0 to 65535'],
    [['--watch-cache=maybe'], 'invalid value "maybe" for --watch-cache: must be true or false'],
    [['--storage-backend=etcd2'], `${backends}: etcd2 is no longer a supported storage backend`],
    [['--storage-backend=foo'], `${backends}: unknown storage type: foo`],
    [
      ['--watch-cache-sizes=pods'],
      'invalid value "pods" for --watch-cache-sizes: invalid value of watch cache size: pods',
    ],
    [
      ['--watch-cache-sizes=pods#-1'],
      'invalid value "pods#-1" for --watch-cache-sizes: watch cache size cannot be negative: pods#-1',
    ],
    [
      ['--watch-cache-sizes=pods#1#2'],
      'invalid value "pods#1#2" for --watch-cache-sizes: invalid value of watch cache size: pods#1#2',
    ],
    [
      ['--watch-cache-sizes=pods#many'],
      'invalid value "pods#many" for --watch-cache-sizes: invalid size of watch cache size: pods#many',
    ],
    [['--default-watch-cache-size=-1'], '--default-watch-cache-size can not be negative value'],
    [
      ['--delete-collection-workers=some'],
      'invalid value "some" for --delete-collection-workers: must be a whole number from -2147483647 to 2147483647',
    ],
    [['--enable-garbage-collector=no'], 'invalid value "no" for --enable-garbage-collector: must be true or false'],
    [['--max-requests-inflight=-1'], '--max-requests-inflight can not be negative value'],
    [
      ['--max-requests-inflight=0', '--max-mutating-requests-inflight=0'],
      'invalid configuration: MaxRequestsInFlight=0 and MaxMutatingRequestsInFlight=0; they must add up to something positive',
    ],
    [['--max-mutating-requests-inflight=-1'], '--max-mutating-requests-inflight can not be negative value'],
    [['--request-timeout=-1s'], '--request-timeout can not be negative value'],
    [['--min-request-timeout=-1'], '--min-request-timeout can not be negative value'],
    [['--goaway-chance=0.03'], '--goaway-chance can not be less than 0 or greater than 0.02'],
    [['--goaway-chance=-0.01'], '--goaway-chance can not be less than 0 or greater than 0.02'],
    [['--goaway-chance=often'], 'invalid value "often" for --goaway-chance: must be a number'],
    [['--livez-grace-period=-1s'], '--livez-grace-period can not be a negative value'],
    [['--shutdown-delay-duration=-1s'], '--shutdown-delay-duration can not be negative value'],
    [
      ['--shutdown-send-retry-after=often'],
      'invalid value "often" for --shutdown-send-retry-after: must be true or false',
    ],
    [
      ['--shutdown-watch-termination-grace-period=-1s'],
      'shutdown-watch-termination-grace-period, if provided, can not be a negative value',
    ],
    [['--service-account-issuer='], 'service-account-issuer should not be an empty string'],
    [['--service-account-issuer=a', '--service-account-issuer=a'], 'service-account-issuer "a" is duplicated'],
    [['--service-account-issuer=:x'], `service-account-issuer ":x" contained a ':' but was not a valid URL`],
    [
      ['--runtime-config=networking.k8s.io/v1beta1=true'],
      `invalid value "networking.k8s.io/v1beta1=true" for --runtime-config: group version networking.k8s.io/v1beta1 ${unsupported}`,
    ],
    [['--event-ttl=soon'], 'invalid value "soon" for --event-ttl: must be a duration such as 90s or 1h30m'],
    [['--authorization-mode=Some'], 'authorization-mode "Some" is not a valid mode'],
    [
      ['--authorization-mode=Foo,RBAC,RBAC,ABAC,Webhook'],
      '[authorization-mode "Foo" is not a valid mode, authorization-mode ABAC\'s authorization policy file not passed, authorization-mode Webhook\'s authorization config file not passed, authorization-mode ["Foo" "RBAC" "RBAC" "ABAC" "Webhook"] has mode specified more than once]',
    ],
    [
      ['--authorization-policy-file=x', '--authorization-webhook-config-file=y'],
      '[cannot specify --authorization-policy-file without mode ABAC, cannot specify --authorization-webhook-config-file without mode Webhook]',
    ],
    ...['mode=RBAC', 'webhook-version=v1beta1', 'webhook-cache-authorized-ttl=5m', 'webhook-config-file=x'].map(
      (flag): [string[], string] => [
        ['--authorization-config=/etc/a.yaml', `--authorization-${flag}`],
        '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
      ],
    ),
    [
      ['--authorization-mode=RBAC', '--authorization-mode=RBAC'],
      'authorization-mode ["RBAC" "RBAC"] has mode specified more than once',
    ],
    [['--authorization-mode='], 'at least one authorization-mode must be passed'],
    [['--tls-min-version=VersionTLS13'], `--tls-min-version ${unsupported}`],
    [['--enable-admission-plugins=Foo'], 'enable-admission-plugins plugin "Foo" is unknown'],
    [['--disable-admission-plugins=Foo'], 'disable-admission-plugins plugin "Foo" is unknown'],
    [['--v=-1'], '--v can not be negative value'],
    [['--egress-selector-config-file=/x'], '--egress-selector-config-file is not supported by this version of kapstan'],
    [
      ['--encryption-provider-config-automatic-reload'],
      '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
    ],
    [['--storage-initialization-timeout=-1s'], '--storage-initialization-timeout can not be negative value'],
    [['--endpoint-reconciler-type=master-count'], 'endpoint reconciler master-count is not supported'],
    [
      ['--endpoint-reconciler-type=other'],
      'invalid value "other" for --endpoint-reconciler-type: must be lease or none',
    ],
    [
      ['--kubelet-client-key=a.key'],
      '--kubelet-client-certificate and --kubelet-client-key must be specified together',
    ],
    [['--kubelet-timeout=-1s'], '--kubelet-timeout can not be negative value'],
    [['--tls-cert-file=a.crt'], '--tls-cert-file and --tls-private-key-file must be specified together'],
    [['--data-dir='], 'invalid value "" for --data-dir: must not be empty'],
  ];
  for (const [args, message] of refused) {
    it(`refuses ${args.join(' ')}, naming the flag`, () => {
      expect(() => parseServeFlags(args)).toThrow(message);
    });
  }
});
