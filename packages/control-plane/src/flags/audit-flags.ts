// The audit flags of `kapstan serve`, under kube-apiserver's names. Part of serve-flags.ts; serve.ts turns them into
// options. Source: server/options/audit.go, from which the texts are taken.
import {
  type AuditDelivery,
  type AuditLogFormat,
  type AuditMode,
  auditLogFormats,
  auditModes,
} from '@kapstan/apiserver';
import type { AuditSettings } from '../access/audit.ts';
import { maxConfigurationBytes, readLimitedFile } from '../followed-file/limited-file.ts';
import { startingWith } from '../lifetime/start-error.ts';
import { anyDurationFlag, booleanFlag, type Flag, floatFlag, intFlag, stringFlag } from './flag-set.ts';

type Plugin = 'log' | 'webhook';

/** The flags that a log and a webhook have in common. */
type DeliveryFlags<P extends Plugin> = {
  readonly [K in `audit-${P}-mode` | `audit-${P}-version`]: string;
} & {
  readonly [K in `audit-${P}-${NumberSetting}`]: number;
} & {
  readonly [K in `audit-${P}-${'batch-throttle-enable' | 'truncate-enabled'}`]: boolean;
};

type NumberSetting =
  | 'batch-buffer-size'
  | 'batch-max-size'
  | 'batch-max-wait'
  | 'batch-throttle-qps'
  | 'batch-throttle-burst'
  | 'truncate-max-batch-size'
  | 'truncate-max-event-size';

export interface AuditFlags extends DeliveryFlags<'log'>, DeliveryFlags<'webhook'> {
  readonly 'audit-policy-file': string;
  readonly 'audit-log-path': string;
  readonly 'audit-log-format': string;
  readonly 'audit-log-maxage': number;
  readonly 'audit-log-maxbackup': number;
  readonly 'audit-log-maxsize': number;
  readonly 'audit-webhook-config-file': string;
  readonly 'audit-webhook-initial-backoff': number;
}

const version = 'audit.k8s.io/v1';
const maxInt = 2_147_483_647;
/** Accepts negative numbers here, so that auditFlagErrors reports them together with the other errors. */
const countFlag = (help: string, defaultValue: number, max = maxInt): Flag<number> =>
  intFlag(help, { default: defaultValue, min: -max, max });

interface DeliveryDefaults {
  readonly mode: AuditMode;
  readonly maxSize: number;
  readonly maxWaitMs: number;
  readonly isThrottled: boolean;
  readonly perSecond: number;
  readonly burst: number;
}

const modeHelp =
  'batch (in the background), blocking (each request waits), or blocking-strict (requests whose event cannot be sent also fail)';

function deliveryFlags<P extends Plugin>(
  plugin: P,
  { mode, maxSize, maxWaitMs, isThrottled, perSecond, burst }: DeliveryDefaults,
): { readonly [K in keyof DeliveryFlags<P>]: Flag<DeliveryFlags<P>[K]> } {
  const maxBytes = Number.MAX_SAFE_INTEGER;
  const flags = {
    mode: stringFlag(`Strategy for sending audit events: ${modeHelp}.`, mode),
    version: stringFlag('API version of audit events in JSON.', version),
    'batch-buffer-size': countFlag(
      'Number of audit events that may wait or be under way; further ones are dropped. Only used in batch mode.',
      10_000,
    ),
    'batch-max-size': countFlag('Maximum number of audit events in a batch. Only used in batch mode.', maxSize),
    'batch-max-wait': anyDurationFlag(
      'Time to wait before a batch that has not reached its maximum size is sent. Only used in batch mode.',
      maxWaitMs,
    ),
    'batch-throttle-enable': booleanFlag('Whether batches are throttled. Only used in batch mode.', isThrottled),
    'batch-throttle-qps': floatFlag(
      'Maximum average number of batches per second. Only used in batch mode.',
      perSecond,
    ),
    'batch-throttle-burst': countFlag(
      'Maximum number of batches sent at the same moment if --audit-*-batch-throttle-qps was not used up before. Only used in batch mode.',
      burst,
    ),
    'truncate-enabled': booleanFlag('Whether large audit events and batches are truncated.', false),
    'truncate-max-batch-size': countFlag(
      'Maximum size of a batch in bytes. A larger one is split. Only used if truncation is enabled.',
      10_485_760,
      maxBytes,
    ),
    'truncate-max-event-size': countFlag(
      'Maximum size of an audit event in bytes. A larger one loses its request and response, and is dropped if that is not enough. Only used if truncation is enabled.',
      102_400,
      maxBytes,
    ),
  };
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [`audit-${plugin}-${name}`, flag])) as {
    readonly [K in keyof DeliveryFlags<P>]: Flag<DeliveryFlags<P>[K]>;
  };
}

const unthrottled = { isThrottled: false, perSecond: 0, burst: 0 };
const throttled = { isThrottled: true, perSecond: 10, burst: 15 };

export const auditFlags: { readonly [K in keyof AuditFlags]: Flag<AuditFlags[K]> } = {
  'audit-policy-file': stringFlag(
    'Path to the audit policy file, which sets how much is recorded of which requests. Requires --audit-log-path or --audit-webhook-config-file.',
  ),
  'audit-log-path': stringFlag(
    'Path to the file that audit events are appended to. "-" means standard output. Requires --audit-policy-file.',
  ),
  'audit-log-format': stringFlag('Format of audit events: json, or legacy for one line of text per event.', 'json'),
  'audit-log-maxage': countFlag('Number of days after which rotated audit log files are deleted. 0 means never.', 366),
  'audit-log-maxbackup': countFlag('Number of rotated audit log files to keep. 0 keeps all.', 100),
  'audit-log-maxsize': countFlag('Size in mebibytes at which the audit log file is rotated. 0 disables rotation.', 100),
  ...deliveryFlags('log', { mode: 'blocking', maxSize: 1, maxWaitMs: 0, ...unthrottled }),
  'audit-webhook-config-file': stringFlag(
    'Path to a kubeconfig file that names the server to which audit events are posted. Requires --audit-policy-file.',
  ),
  'audit-webhook-initial-backoff': anyDurationFlag(
    'Time to wait before the first failed request to the audit webhook is repeated.',
    10_000,
  ),
  ...deliveryFlags('webhook', { mode: 'batch', maxSize: 400, maxWaitMs: 30_000, ...throttled }),
};

/** Checks the flags of the log and of the webhook, each only if it is in use. Returns the errors. */
export function auditFlagErrors(flags: AuditFlags): readonly string[] {
  return [
    ...(flags['audit-log-path'] === '' ? [] : [...deliveryErrors('log', flags), ...logErrors(flags)]),
    ...(flags['audit-webhook-config-file'] === '' ? [] : deliveryErrors('webhook', flags)),
  ];
}

function deliveryErrors(plugin: Plugin, flags: AuditFlags): readonly string[] {
  return [
    batchError(plugin, flags),
    truncateError(plugin, flags),
    versionError(flags[`audit-${plugin}-version`]),
  ].filter((error) => error !== undefined);
}

/** Returns only the first error, as kube-apiserver does. */
function batchError(plugin: Plugin, flags: AuditFlags): string | undefined {
  const mode = flags[`audit-${plugin}-mode`];
  if (!isMode(mode)) return `invalid audit ${plugin} mode ${mode}, allowed modes are "${auditModes.join(',')}"`;
  if (mode !== 'batch') return undefined;
  const sizes = [
    ['buffer size', flags[`audit-${plugin}-batch-buffer-size`]],
    ['max batch size', flags[`audit-${plugin}-batch-max-size`]],
  ] as const;
  const limits = [
    ['throttle QPS', flags[`audit-${plugin}-batch-throttle-qps`]],
    ['throttle burst', flags[`audit-${plugin}-batch-throttle-burst`]],
  ] as const;
  const checked = flags[`audit-${plugin}-batch-throttle-enable`] ? [...sizes, ...limits] : sizes;
  const wrong = checked.find(([, value]) => value <= 0);
  return wrong && `invalid audit batch ${plugin} ${wrong[0]} ${wrong[1]}, must be a positive number`;
}

function truncateError(plugin: Plugin, flags: AuditFlags): string | undefined {
  const event = flags[`audit-${plugin}-truncate-max-event-size`];
  const batch = flags[`audit-${plugin}-truncate-max-batch-size`];
  const what = `invalid audit truncate ${plugin}`;
  if (event <= 0) return `${what} max event size ${event}, must be a positive number`;
  if (batch >= event) return undefined;
  return `${what} max batch size ${batch}, must be greater than max event size (${event})`;
}

function versionError(text: string): string | undefined {
  if (text.split('/').length > 2) return `unexpected GroupVersion string: ${text}`;
  return text === version ? undefined : `invalid group version, allowed versions are ["${version}"]`;
}

function logErrors(flags: AuditFlags): readonly string[] {
  const errors: string[] = [];
  const { 'audit-log-format': format } = flags;
  if (!isFormat(format)) {
    errors.push(`invalid audit log format ${format}, allowed formats are "${auditLogFormats.join(',')}"`);
  }
  for (const name of ['audit-log-maxage', 'audit-log-maxbackup', 'audit-log-maxsize'] as const) {
    if (flags[name] < 0) errors.push(`--${name} ${flags[name]} can't be a negative number`);
  }
  return errors;
}

/** Warns when a policy or a backend is missing, because each needs the other. */
export function auditFlagWarnings(
  flags: Pick<AuditFlags, 'audit-policy-file' | 'audit-log-path' | 'audit-webhook-config-file'>,
): readonly string[] {
  const given = (['audit-log-path', 'audit-webhook-config-file'] as const).filter((name) => flags[name] !== '');
  const hasPolicy = flags['audit-policy-file'] !== '';
  if (hasPolicy && given.length === 0)
    return [
      'no audit events are recorded: --audit-policy-file requires --audit-log-path or --audit-webhook-config-file',
    ];
  return hasPolicy ? [] : given.map((name) => `no audit events are recorded: --${name} requires --audit-policy-file`);
}

/** Reads the policy file; rejects when it cannot be read. Returns undefined when nothing is recorded. */
export async function auditSettings(flags: AuditFlags): Promise<AuditSettings | undefined> {
  const {
    'audit-policy-file': file,
    'audit-log-path': path,
    'audit-log-format': format,
    'audit-webhook-config-file': kubeconfig,
  } = flags;
  if (file === '') return undefined;
  const policy = await startingWith('--audit-policy-file', () => readLimitedFile(file, maxConfigurationBytes));
  if ((path === '' && kubeconfig === '') || !isFormat(format)) return undefined;
  const initialBackoffMs = flags['audit-webhook-initial-backoff'];
  return {
    policy,
    path: path === '' ? undefined : path,
    format,
    maxDays: flags['audit-log-maxage'],
    maxBackups: flags['audit-log-maxbackup'],
    maxMebibytes: flags['audit-log-maxsize'],
    ...deliveryOf('log', flags),
    webhook: kubeconfig === '' ? undefined : { kubeconfig, initialBackoffMs, ...deliveryOf('webhook', flags) },
  };
}

function deliveryOf(plugin: Plugin, flags: AuditFlags): AuditDelivery {
  const mode = flags[`audit-${plugin}-mode`];
  const throttle = {
    perSecond: flags[`audit-${plugin}-batch-throttle-qps`],
    burst: flags[`audit-${plugin}-batch-throttle-burst`],
  };
  const batching = {
    maxEvents: flags[`audit-${plugin}-batch-buffer-size`],
    maxBatchEvents: flags[`audit-${plugin}-batch-max-size`],
    maxWaitMs: Math.max(0, flags[`audit-${plugin}-batch-max-wait`]),
    throttle: flags[`audit-${plugin}-batch-throttle-enable`] ? throttle : ('off' as const),
  };
  const truncation = {
    maxEventBytes: flags[`audit-${plugin}-truncate-max-event-size`],
    maxBatchBytes: flags[`audit-${plugin}-truncate-max-batch-size`],
  };
  return {
    mode: isMode(mode) ? mode : undefined,
    // The other modes have no batches, so that these flags are not even checked.
    batching: mode === 'batch' ? batching : undefined,
    truncation: flags[`audit-${plugin}-truncate-enabled`] ? truncation : undefined,
  };
}

function isMode(text: string): text is AuditMode {
  return (auditModes as readonly string[]).includes(text);
}

function isFormat(text: string): text is AuditLogFormat {
  return (auditLogFormats as readonly string[]).includes(text);
}
