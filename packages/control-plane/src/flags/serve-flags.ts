// The flags of `kapstan serve`: kube-apiserver's names and meanings where one exists.
import { admissionNamesError } from '@kapstan/apiserver';
import { kubernetesAdmission } from '@kapstan/kubernetes';
import { type AuthorizationMode, authorizationModes } from '../access-control.ts';
import { controlLoopNames, selectControlLoops } from '../control-loops/control-loop-names.ts';
import { type AuditFlags, auditFlagErrors, auditFlags } from './audit-flags.ts';
import { type FeatureGates, featureGatesFlag } from './feature-gates.ts';
import {
  anyDurationFlag,
  booleanFlag,
  durationFlag,
  type Flag,
  FlagRefusal,
  FlagSyntax,
  intFlag,
  ipFlag,
  listFlag,
  notSupported,
  parseFlags,
  refusedFlag,
  stringFlag,
} from './flag-set.ts';
import { type KubeletFlags, kubeletFlagErrors, kubeletFlags } from './kubelet-flags.ts';
import { type RuntimeConfigFlags, runtimeConfigFlags } from './runtime-config-flags.ts';
import { type ServiceAccountFlags, serviceAccountFlagErrors, serviceAccountFlags } from './service-account-flags.ts';
import { type StoreFlags, storeFlagErrors, storeFlags } from './store-flags.ts';
import { fixedFlags, unsupportedFlags } from './unsupported-flags.ts';

const maxInt = 2_147_483_647;

/** The flags as read. Times are milliseconds but where the flag's name says seconds. */
export interface ServeFlags extends AuditFlags, StoreFlags, ServiceAccountFlags, KubeletFlags, RuntimeConfigFlags {
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
  readonly 'authorization-mode': readonly AuthorizationMode[];
  readonly 'anonymous-auth': boolean;
  readonly 'warn-without-effect': boolean;
  readonly 'enable-admission-plugins': readonly string[];
  readonly 'disable-admission-plugins': readonly string[];
  readonly 'max-requests-inflight': number;
  readonly 'max-mutating-requests-inflight': number;
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
  'bind-address': ipFlag('Address to listen on.', '127.0.0.1'),
  'secure-port': intFlag('Port for HTTPS; 0 takes any free one.', { default: 6443, min: 0, max: 65_535 }),
  'data-dir': stringFlag('Directory of the embedded store and of the certificates.', '.kapstan'),
  ...storeFlags,
  'watch-cache': booleanFlag('Serve lists and watches from a cache in memory.', true),
  'watch-cache-sizes': watchCacheSizesFlag(
    'Per resource, as resource[.group]#size: events that the history of its cache has room for at first; 0 = no cache.',
  ),
  'default-watch-cache-size': intFlag('The same for the resources that --watch-cache-sizes does not name.', {
    default: 100,
    min: 0,
    max: maxInt,
  }),
  'event-ttl': durationFlag('How long events are kept.', 3_600_000),
  'allow-privileged': booleanFlag('Let containers be privileged, and processes of a Windows host.', true),
  'delete-collection-workers': workersFlag('Deletes of one delete-collection that run side by side; below 1 = 1.'),
  'enable-garbage-collector': booleanFlag(
    'Let owners wait for or part with their dependents; false also turns the loop off that deletes these.',
    true,
  ),
  'encryption-provider-config': stringFlag('File that says how objects are encrypted in the store.'),
  'encryption-provider-config-automatic-reload': booleanFlag(
    'Look at the file of --encryption-provider-config once a minute and take over what changed.',
    false,
  ),
  'storage-initialization-timeout': durationFlag(
    'How long to wait at the start for objects that cannot be read, before serving without them.',
    60_000,
  ),
  'token-auth-file': stringFlag('CSV file of tokens: token,user,uid,"group1,group2".'),
  ...serviceAccountFlags,
  ...kubeletFlags,
  ...runtimeConfigFlags,
  'client-ca-file': stringFlag("Certificates that sign client certificates, beside the server's own authority."),
  'tls-cert-file': stringFlag('Serving certificate instead of the own one. Needs --tls-private-key-file.'),
  'tls-private-key-file': stringFlag('Key of --tls-cert-file.'),
  'authorization-mode': authorizationModeFlag('Who decides, in this order: RBAC, AlwaysAllow (for tests).'),
  'anonymous-auth': booleanFlag('Let requests without credentials in as system:anonymous.', true),
  'warn-without-effect': booleanFlag(
    'Warn whoever creates or changes webhook configurations, admission policies, quotas or limit ranges that they are not enforced.',
    true,
  ),
  'enable-admission-plugins': listFlag('Admission plug-ins to turn on beside the default ones.'),
  'disable-admission-plugins': listFlag('Admission plug-ins to turn off.'),
  'max-requests-inflight': intFlag('Reads served at once; 0 = no limit.', { default: 400, min: 0, max: maxInt }),
  'max-mutating-requests-inflight': intFlag('Writes served at once; 0 = no limit.', {
    default: 200,
    min: 0,
    max: maxInt,
  }),
  'http2-max-streams-per-connection': intFlag('Requests at once on one HTTP/2 connection; 0 = 250.', {
    default: 0,
    min: 0,
    max: maxInt,
  }),
  ...auditFlags,
  'request-timeout': durationFlag('Longest time for a request that is no watch; writes get at most 34s.', 60_000),
  'min-request-timeout': intFlag('Shortest time after which the server ends a watch, in seconds.', {
    default: 1800,
    min: 0,
    max: maxInt,
  }),
  'goaway-chance': goawayChanceFlag(
    'Share of requests after which an HTTP/2 client is asked to connect anew, at most 0.02; 0 = none.',
  ),
  'user-watch-buffer-bytes': intFlag(
    'Most bytes that wait in all watches of one user for clients that do not read; beyond it the largest watch is cut. 0 = no limit.',
    { default: 67_108_864, min: 0, max: Number.MAX_SAFE_INTEGER },
  ),
  'watch-buffer-bytes': intFlag('The same for all watches of the server.', {
    default: 134_217_728,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  }),
  'release-idle-memory': booleanFlag(
    'Collect garbage once when the server has become idle after a burst, so that it gives memory back.',
    true,
  ),
  'livez-grace-period': anyDurationFlag(
    'How long a start may last: until then /livez takes control loops that have not come up for healthy.',
    0,
  ),
  'shutdown-delay-duration': durationFlag(
    'How long to go on serving when told to stop, with /readyz failing, so that others may look elsewhere.',
    0,
  ),
  'shutdown-send-retry-after': booleanFlag(
    'While requests under way end, answer new ones with 429 and Retry-After instead of no longer listening.',
    false,
  ),
  'shutdown-watch-termination-grace-period': anyDurationFlag(
    'Longest time over which watches are ended one by one when the server stops; 0 = all at once.',
    0,
  ),
  'feature-gates': featureGatesFlag(
    'Gates as name=true or name=false. AllowUnsafeMalformedObjectDeletion can be turned on, APIServerIdentity off; others stay at their defaults.',
  ),
  'service-cluster-ip-range': stringFlag('Addresses given to services.', '10.96.0.0/16'),
  'advertise-address': ipFlag('Address under which others reach this server; goes into its certificate.'),
  'endpoint-reconciler-type': endpointReconcilerFlag(
    'Who keeps the addresses of the service "kubernetes": lease (the servers, as long as they live) or none.',
  ),
  'control-loops': listFlag(
    `Control loops to run: none, * (all), names, or -name for all but it. There are ${controlLoopNames.join(', ')}.`,
    ['*'],
  ),
  'leader-elect': booleanFlag(
    'On etcd: run the control loops in one of the servers that have them, not in each.',
    true,
  ),
  'leader-elect-lease-duration': durationFlag(
    'How long others wait for a server that runs the loops and is gone.',
    15_000,
  ),
  'leader-elect-renew-deadline': durationFlag('How long a server runs the loops without having said so.', 10_000),
  'leader-elect-retry-period': durationFlag('How often a server says that it runs the loops, or asks who does.', 2_000),
  'kubeconfig-out': stringFlag('Write the admin kubeconfig to this file.'),
  'ready-file': stringFlag('Write {url, caFile, token, pid} to this file when ready.'),
  v: intFlag('How much is logged, also as -v: from 4 on what helps to find faults.', {
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
    ...graceErrors(values),
    ...serviceAccountFlagErrors(values),
    ...kubeletFlagErrors(values),
    ...controlLoopErrors(values),
    ...admissionErrors(values),
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
    errors.push('--tls-cert-file and --tls-private-key-file must be given together');
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

/** kube-apiserver takes any number; less than one works like one. */
function workersFlag(help: string): Flag<number> {
  const any = intFlag(help, { default: 1, min: -maxInt, max: maxInt });
  return { ...any, parse: (text) => Math.max(1, any.parse(text)) };
}

function goawayChanceFlag(help: string): Flag<number> {
  const parse = (text: string): number => {
    const chance = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
    if (Number.isNaN(chance)) throw new FlagSyntax('must be a number');
    if (chance < 0 || chance > 0.02) throw new FlagRefusal('can not be less than 0 or greater than 0.02');
    return chance;
  };
  return { parse, default: 0, help };
}

function authorizationModeFlag(help: string): Flag<readonly AuthorizationMode[]> {
  const list = listFlag(help, ['RBAC']);
  const parse = (text: string): readonly AuthorizationMode[] => {
    const modes = list.parse(text);
    if (modes.length === 0) throw new TypeError('at least one authorization-mode must be passed');
    if (new Set(modes).size < modes.length) {
      throw new TypeError(`authorization-mode ["${modes.join('" "')}"] has mode specified more than once`);
    }
    return modes.map(authorizationMode);
  };
  return { ...list, parse, default: ['RBAC'] };
}

function authorizationMode(text: string): AuthorizationMode {
  const known = authorizationModes.find((mode) => mode === text);
  if (known !== undefined) return known;
  const isForeign = ['Node', 'ABAC', 'Webhook', 'AlwaysDeny'].includes(text);
  throw new TypeError(
    isForeign ? `authorization mode ${text} ${notSupported}` : `authorization-mode "${text}" is not a valid mode`,
  );
}

function endpointReconcilerFlag(help: string): Flag<'none' | 'lease'> {
  const parse = (text: string): 'none' | 'lease' => {
    if (text === 'none' || text === 'lease') return text;
    if (text === 'master-count') throw new TypeError(`endpoint reconciler master-count ${notSupported}`);
    throw new TypeError('must be lease or none');
  };
  return { parse, default: 'lease', help };
}

/** "pods#100,deployments.apps#0" → sizes by group resource. Source: kube-apiserver ParseWatchCacheSizes. */
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
  return { parse, default: new Map(), help, shown: '', separator: ',' };
}
