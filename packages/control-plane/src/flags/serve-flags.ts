// The flags of `kapstan serve`: kube-apiserver's names and meanings where one exists.
import { admissionNamesError } from '@kapstan/apiserver';
import { kubernetesAdmission } from '@kapstan/kubernetes';
import { controlLoopNames, selectControlLoops } from '../control-loops/control-loop-names.ts';
import { type AggregatorFlags, aggregatorFlagErrors, aggregatorFlags } from './aggregator-flags.ts';
import { type AuditFlags, auditFlagErrors, auditFlags } from './audit-flags.ts';
import { type AuthorizationFlags, authorizationFlagErrors, authorizationFlags } from './authorization-flags.ts';
import { type FeatureGates, featureGatesFlag } from './feature-gates.ts';
import {
  anyDurationFlag,
  booleanFlag,
  durationFlag,
  type Flag,
  FlagRefusal,
  floatFlag,
  intFlag,
  ipFlag,
  listFlag,
  notSupported,
  parseFlags,
  refusedFlag,
  stringFlag,
} from './flag-set.ts';
import { type IdentityFlags, identityFlagErrors, identityFlags } from './identity-flags.ts';
import { type KubeletFlags, kubeletFlagErrors, kubeletFlags } from './kubelet-flags.ts';
import { type RequestLimitFlags, requestLimitErrors, requestLimitFlags } from './request-limit-flags.ts';
import { type RuntimeConfigFlags, runtimeConfigFlags } from './runtime-config-flags.ts';
import { type ServiceAccountFlags, serviceAccountFlagErrors, serviceAccountFlags } from './service-account-flags.ts';
import { type StoreFlags, storeFlagErrors, storeFlags } from './store-flags.ts';
import { type TracingFlags, tracingFlagErrors, tracingFlags } from './tracing-flags.ts';
import { fixedFlags, unsupportedFlags } from './unsupported-flags.ts';

const maxInt = 2_147_483_647;

/** The parsed flags. Times are in milliseconds unless the flag's name says seconds. */
export interface ServeFlags
  extends AuditFlags,
    AuthorizationFlags,
    StoreFlags,
    ServiceAccountFlags,
    KubeletFlags,
    RequestLimitFlags,
    RuntimeConfigFlags,
    AggregatorFlags,
    IdentityFlags,
    TracingFlags {
  readonly 'bind-address': string;
  readonly 'secure-port': number;
  readonly 'data-dir': string;
  readonly 'watch-cache': boolean;
  readonly 'watch-cache-sizes': ReadonlyMap<string, number>;
  readonly 'default-watch-cache-size': number;
  readonly 'event-ttl': number;
  readonly 'allow-privileged': boolean;
  readonly 'delete-collection-workers': number;
  readonly 'enable-garbage-collector': boolean;
  readonly 'encryption-provider-config': string;
  readonly 'encryption-provider-config-automatic-reload': boolean;
  readonly 'storage-initialization-timeout': number;
  readonly 'token-auth-file': string;
  readonly 'client-ca-file': string;
  readonly 'tls-cert-file': string;
  readonly 'tls-private-key-file': string;
  readonly 'warn-without-effect': boolean;
  readonly inspect: boolean;
  readonly 'enable-admission-plugins': readonly string[];
  readonly 'disable-admission-plugins': readonly string[];
  readonly 'admission-control-config-file': string;
  readonly 'http2-max-streams-per-connection': number;
  readonly 'request-timeout': number;
  /** Seconds, as in kube-apiserver. */
  readonly 'min-request-timeout': number;
  readonly 'goaway-chance': number;
  readonly 'user-watch-buffer-bytes': number;
  readonly 'watch-buffer-bytes': number;
  readonly 'release-idle-memory': boolean;
  readonly 'livez-grace-period': number;
  readonly 'shutdown-delay-duration': number;
  readonly 'shutdown-send-retry-after': boolean;
  readonly 'shutdown-watch-termination-grace-period': number;
  readonly 'feature-gates': FeatureGates;
  readonly 'service-cluster-ip-range': string;
  readonly 'advertise-address': string;
  readonly 'endpoint-reconciler-type': 'none' | 'lease';
  readonly 'control-loops': readonly string[];
  readonly 'leader-elect': boolean;
  readonly 'leader-elect-lease-duration': number;
  readonly 'leader-elect-renew-deadline': number;
  readonly 'leader-elect-retry-period': number;
  readonly 'kubeconfig-out': string;
  readonly 'ready-file': string;
  readonly v: number;
}

export const serveFlags: { readonly [K in keyof ServeFlags]: Flag<ServeFlags[K]> } = {
  'bind-address': ipFlag('IP address to listen on.', '127.0.0.1'),
  'secure-port': intFlag('HTTPS port to listen on. 0 picks a free port.', { default: 6443, min: 0, max: 65_535 }),
  'data-dir': stringFlag('Directory for the embedded store and the generated certificates.', '.kapstan'),
  ...storeFlags,
  'watch-cache': booleanFlag('Serve lists and watches from an in-memory watch cache.', true),
  'watch-cache-sizes': watchCacheSizesFlag(
    'Comma-separated watch cache sizes for individual resources, each as resource[.group]#size. The size is the initial number of events the cache can hold; 0 disables the cache for that resource.',
  ),
  'default-watch-cache-size': intFlag(
    'Watch cache size for resources not listed in --watch-cache-sizes. 0 disables the cache for them.',
    {
      default: 100,
      min: 0,
      max: maxInt,
    },
  ),
  'event-ttl': durationFlag('Time after which Event objects are deleted.', 3_600_000),
  'allow-privileged': booleanFlag('If true, allow privileged containers and Windows host process containers.', true),
  'delete-collection-workers': workersFlag(
    'Number of parallel deletes for one delete-collection request. Values below 1 count as 1.',
  ),
  'enable-garbage-collector': booleanFlag(
    'Enable garbage collection: foreground deletion, orphaning, and the control loop that deletes dependents whose owners are gone.',
    true,
  ),
  'encryption-provider-config': stringFlag('Path to the file that configures the encryption of objects in the store.'),
  'encryption-provider-config-automatic-reload': booleanFlag(
    'Check the file set by --encryption-provider-config once a minute and reload it when it has changed.',
    false,
  ),
  'storage-initialization-timeout': durationFlag(
    'Maximum time to wait at startup for resources whose objects cannot be read before serving without them.',
    60_000,
  ),
  'token-auth-file': stringFlag(
    'Path to a CSV file of static bearer tokens, one per line: token,user,uid,"group1,group2".',
  ),
  ...serviceAccountFlags,
  ...kubeletFlags,
  ...aggregatorFlags,
  ...runtimeConfigFlags,
  'client-ca-file': stringFlag(
    "Certificate authority file used to verify client certificates, in addition to the server's own certificate authority.",
  ),
  'tls-cert-file': stringFlag(
    'Path to the serving certificate, used instead of the generated one. Requires --tls-private-key-file.',
  ),
  'tls-private-key-file': stringFlag('Path to the private key that matches --tls-cert-file.'),
  ...authorizationFlags,
  ...identityFlags,
  'warn-without-effect': booleanFlag(
    'Return a warning to clients that create or change horizontal pod autoscalers and network policies, because nothing in this server acts on them.',
    true,
  ),
  inspect: booleanFlag(
    'Serve the inspector at /inspect/: caches, watchers, requests and the store, as a page, as JSON and live. The authorizer decides who may read it.',
    false,
  ),
  'enable-admission-plugins': listFlag('Admission plug-ins to enable in addition to the default ones.'),
  'disable-admission-plugins': listFlag('Admission plug-ins to disable, including ones enabled by default.'),
  'admission-control-config-file': stringFlag(
    'Path to a file with the configurations of admission plug-ins: PodSecurity, ResourceQuota, EventRateLimit.',
  ),
  ...requestLimitFlags,
  'http2-max-streams-per-connection': intFlag(
    'Maximum number of concurrent streams on one HTTP/2 connection. 0 means 250.',
    {
      default: 0,
      min: 0,
      max: maxInt,
    },
  ),
  ...auditFlags,
  ...tracingFlags,
  'request-timeout': durationFlag(
    'Maximum duration of a request other than a watch. Mutating requests are limited to 34s in any case.',
    60_000,
  ),
  'min-request-timeout': intFlag('Minimum number of seconds that a watch stays open before the server ends it.', {
    default: 1800,
    min: 0,
    max: maxInt,
  }),
  'goaway-chance': goawayChanceFlag(
    'Fraction of HTTP/2 requests after which the client is told to reconnect (GOAWAY), to spread connections over servers. Minimum 0 (off), maximum 0.02.',
  ),
  'user-watch-buffer-bytes': intFlag(
    'Maximum number of bytes buffered for slow readers over all watches of one user. When it is exceeded, the watch with the most buffered bytes is closed. 0 means no limit.',
    { default: 67_108_864, min: 0, max: Number.MAX_SAFE_INTEGER },
  ),
  'watch-buffer-bytes': intFlag(
    'Same limit as --user-watch-buffer-bytes, over all watches of the server. 0 means no limit.',
    {
      default: 134_217_728,
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    },
  ),
  'release-idle-memory': booleanFlag(
    'Collect garbage when the server becomes idle after a burst of requests, to return memory to the system.',
    true,
  ),
  'livez-grace-period': anyDurationFlag(
    'Maximum time that startup may take. Until then, /livez treats control loops that are not yet ready as healthy.',
    0,
  ),
  'shutdown-delay-duration': durationFlag(
    'Time to keep serving after a stop signal while /readyz already fails, so that load balancers can stop sending traffic.',
    0,
  ),
  'shutdown-send-retry-after': booleanFlag(
    'If true, keep listening during shutdown until requests in flight have finished, and answer new ones with status 429 and Retry-After.',
    false,
  ),
  'shutdown-watch-termination-grace-period': anyDurationFlag(
    'Maximum time over which watches are closed one by one during shutdown. 0 closes all at once.',
    0,
  ),
  'feature-gates': featureGatesFlag(
    'A set of name=true or name=false pairs. AllowUnsafeMalformedObjectDeletion can be turned on, and APIServerIdentity, APIServerTracing, ComponentFlagz and ComponentStatusz off; all other gates are fixed at their defaults.',
  ),
  'service-cluster-ip-range': stringFlag(
    'IP address range, in CIDR notation, from which cluster IPs are assigned to services.',
    '10.96.0.0/16',
  ),
  'advertise-address': ipFlag(
    'IP address at which others can reach this server. It is included in the serving certificate.',
  ),
  'endpoint-reconciler-type': endpointReconcilerFlag(
    'How the endpoints of the "kubernetes" service are maintained: lease (each running server renews its own) or none.',
  ),
  'control-loops': listFlag(
    `List of control loops to run: none, * for all, a name to run that loop, or *,-name to leave one out. Known loops: ${controlLoopNames.join(', ')}.`,
    ['*'],
  ),
  'leader-elect': booleanFlag(
    'When the store is an etcd cluster, elect a leader among the servers and run the control loops only there.',
    true,
  ),
  'leader-elect-lease-duration': durationFlag(
    'Time that other servers wait after the last renewal of the lease before they take over the control loops.',
    15_000,
  ),
  'leader-elect-renew-deadline': durationFlag(
    'Time for which the leader keeps trying to renew the lease before it stops its control loops.',
    10_000,
  ),
  'leader-elect-retry-period': durationFlag('Interval between attempts to acquire or renew the lease.', 2_000),
  'kubeconfig-out': stringFlag('Path to a file to which the admin kubeconfig is written.'),
  'ready-file': stringFlag(
    'Path to a file to which {url, caFile, token, pid} is written as JSON when the server is ready.',
  ),
  v: intFlag('Log level verbosity, also as -v. At 4 and above, debug messages are logged.', {
    default: 0,
    min: 0,
    max: maxInt,
  }),
};

/** Reads and checks the flags of `kapstan serve`. Throws UsageError, see {@link parseFlags}. */
export function parseServeFlags(args: readonly string[]): ServeFlags {
  const spelled = args.map((arg) => (/^-v(=|$)/.test(arg) ? `-${arg}` : arg));
  const refused = Object.fromEntries([...unsupportedFlags].map((name) => [name, refusedFlag]));
  return parseFlags({ ...refused, ...fixedFlags, ...serveFlags }, spelled, (values) => [
    ...storeFlagErrors(values),
    ...certificateErrors(values),
    ...auditFlagErrors(values),
    ...authorizationFlagErrors(values),
    ...tracingFlagErrors(values),
    ...graceErrors(values),
    ...serviceAccountFlagErrors(values),
    ...kubeletFlagErrors(values),
    ...aggregatorFlagErrors(values),
    ...identityFlagErrors(values),
    ...controlLoopErrors(values),
    ...admissionErrors(values),
    ...requestLimitErrors(values),
    ...(values['data-dir'] === '' ? ['invalid value "" for --data-dir: must not be empty'] : []),
  ]);
}

/** Source: ServerRunOptions.Validate, whose texts these are. */
function graceErrors(values: ServeFlags): readonly string[] {
  const errors: string[] = [];
  if (values['livez-grace-period'] < 0) errors.push('--livez-grace-period can not be a negative value');
  if (values['shutdown-watch-termination-grace-period'] < 0) {
    errors.push('shutdown-watch-termination-grace-period, if provided, can not be a negative value');
  }
  return errors;
}

function certificateErrors(values: ServeFlags): readonly string[] {
  const errors: string[] = [];
  if ((values['tls-cert-file'] === '') !== (values['tls-private-key-file'] === '')) {
    errors.push('--tls-cert-file and --tls-private-key-file must be specified together');
  }
  if (values['encryption-provider-config-automatic-reload'] && values['encryption-provider-config'] === '') {
    errors.push('--encryption-provider-config-automatic-reload must be set with --encryption-provider-config');
  }
  return errors;
}

function controlLoopErrors(values: ServeFlags): readonly string[] {
  const list = values['control-loops'];
  try {
    selectControlLoops(list, { collectsGarbage: values['enable-garbage-collector'] });
    return [];
  } catch (error) {
    return [`invalid value "${list.join(',')}" for --control-loops: ${(error as Error).message}`];
  }
}

function admissionErrors(values: ServeFlags): readonly string[] {
  const { 'enable-admission-plugins': enabled, 'disable-admission-plugins': disabled } = values;
  const each = [
    ...enabled.map((name) => admissionNamesError({ enabled: [name] }, kubernetesAdmission)),
    ...disabled.map((name) => admissionNamesError({ disabled: [name] }, kubernetesAdmission)),
  ];
  return [...each, admissionNamesError({ enabled, disabled }, kubernetesAdmission)].filter(
    (error) => error !== undefined,
  );
}

/** kube-apiserver accepts any number; a value below one acts like one. */
function workersFlag(help: string): Flag<number> {
  const any = intFlag(help, { default: 1, min: -maxInt, max: maxInt });
  return { ...any, parse: (text) => Math.max(1, any.parse(text)) };
}

function goawayChanceFlag(help: string): Flag<number> {
  const any = floatFlag(help, 0);
  const parse = (text: string): number => {
    const chance = any.parse(text);
    if (chance < 0 || chance > 0.02) throw new FlagRefusal('can not be less than 0 or greater than 0.02');
    return chance;
  };
  return { ...any, parse };
}

function endpointReconcilerFlag(help: string): Flag<'none' | 'lease'> {
  const parse = (text: string): 'none' | 'lease' => {
    if (text === 'none' || text === 'lease') return text;
    if (text === 'master-count') throw new TypeError(`endpoint reconciler master-count ${notSupported}`);
    throw new TypeError('must be lease or none');
  };
  return { parse, default: 'lease', help };
}

/** Parses "pods#100,deployments.apps#0" into sizes by group resource. Source: kube-apiserver ParseWatchCacheSizes. */
function watchCacheSizesFlag(help: string): Flag<ReadonlyMap<string, number>> {
  const parse = (text: string): ReadonlyMap<string, number> => {
    const sizes = new Map<string, number>();
    for (const item of text === '' ? [] : text.split(',')) {
      const [resource, size, ...rest] = item.split('#');
      if (!resource || size === undefined || rest.length > 0)
        throw new TypeError(`invalid value of watch cache size: ${item}`);
      if (!/^-?\d+$/.test(size)) throw new TypeError(`invalid size of watch cache size: ${item}`);
      if (Number(size) < 0) throw new TypeError(`watch cache size cannot be negative: ${item}`);
      sizes.set(resource, Number(size));
    }
    return sizes;
  };
  const format = (sizes: ReadonlyMap<string, number>): string =>
    `[${[...sizes].map(([resource, size]) => `${resource}#${size}`).join(',')}]`;
  return { parse, default: new Map(), help, shown: '', separator: ',', format };
}
