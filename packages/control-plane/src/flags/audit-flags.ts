// The audit flags of `kapstan serve`, under kube-apiserver's names. Part of serve-flags.ts; serve.ts turns them into
// options. Source: server/options/audit.go, whose texts these are.
import { readFile } from 'node:fs/promises';
import { type AuditLogFormat, type AuditLogMode, auditLogFormats, auditLogModes } from '@kapstan/apiserver';
import type { AuditSettings } from '../audit.ts';
import { startingWith } from '../start-error.ts';
import { type Flag, intFlag, stringFlag } from './flag-set.ts';

export interface AuditFlags {
  readonly 'audit-policy-file': string;
  readonly 'audit-log-path': string;
  readonly 'audit-log-format': string;
  readonly 'audit-log-mode': string;
  readonly 'audit-log-version': string;
  readonly 'audit-log-maxage': number;
  readonly 'audit-log-maxbackup': number;
  readonly 'audit-log-maxsize': number;
}

const version = 'audit.k8s.io/v1';
const maxInt = 2_147_483_647;
/** Accepts negative numbers here, so that auditFlagErrors reports them together with the other errors. */
const countFlag = (help: string, defaultValue: number): Flag<number> =>
  intFlag(help, { default: defaultValue, min: -maxInt, max: maxInt });

export const auditFlags: { readonly [K in keyof AuditFlags]: Flag<AuditFlags[K]> } = {
  'audit-policy-file': stringFlag(
    'Path to the audit policy file, which sets how much is recorded of which requests. Requires --audit-log-path.',
  ),
  'audit-log-path': stringFlag(
    'Path to the file that audit events are appended to. "-" means standard output. Requires --audit-policy-file.',
  ),
  'audit-log-format': stringFlag('Format of audit events: json, or legacy for one line of text per event.', 'json'),
  'audit-log-mode': stringFlag(
    'Strategy for writing audit events: batch (in the background), blocking (each request waits), or blocking-strict (requests whose event cannot be written also fail).',
    'blocking',
  ),
  'audit-log-version': stringFlag('API version of audit events in JSON.', version),
  'audit-log-maxage': countFlag('Number of days after which rotated audit log files are deleted. 0 means never.', 366),
  'audit-log-maxbackup': countFlag('Number of rotated audit log files to keep. 0 keeps all.', 100),
  'audit-log-maxsize': countFlag('Size in mebibytes at which the audit log file is rotated. 0 disables rotation.', 100),
};

/** Returns no errors when no audit log is requested: its flags are not checked then. */
export function auditFlagErrors(flags: AuditFlags): readonly string[] {
  if (flags['audit-log-path'] === '') return [];
  const errors: string[] = [];
  const { 'audit-log-mode': mode, 'audit-log-format': format } = flags;
  if (!isMode(mode)) errors.push(`invalid audit log mode ${mode}, allowed modes are "${auditLogModes.join(',')}"`);
  if (flags['audit-log-version'] !== version) errors.push(`invalid group version, allowed versions are ["${version}"]`);
  if (!isFormat(format)) {
    errors.push(`invalid audit log format ${format}, allowed formats are "${auditLogFormats.join(',')}"`);
  }
  for (const name of ['audit-log-maxage', 'audit-log-maxbackup', 'audit-log-maxsize'] as const) {
    if (flags[name] < 0) errors.push(`--${name} ${flags[name]} can't be a negative number`);
  }
  return errors;
}

/** Warns when only one of the two flags is given, because each needs the other. */
export function auditFlagWarnings(flags: Pick<AuditFlags, 'audit-policy-file' | 'audit-log-path'>): readonly string[] {
  const [hasPolicy, hasPath] = [flags['audit-policy-file'] !== '', flags['audit-log-path'] !== ''];
  if (hasPolicy === hasPath) return [];
  const missing = hasPolicy ? 'audit-log-path' : 'audit-policy-file';
  return [
    `no audit events are recorded: --${hasPolicy ? 'audit-policy-file' : 'audit-log-path'} requires --${missing}`,
  ];
}

/** Reads the policy file; rejects when it cannot be read. Returns undefined when nothing is recorded. */
export async function auditSettings(flags: AuditFlags): Promise<AuditSettings | undefined> {
  const {
    'audit-policy-file': file,
    'audit-log-path': path,
    'audit-log-mode': mode,
    'audit-log-format': format,
  } = flags;
  if (file === '') return undefined;
  const policy = await startingWith('--audit-policy-file', () => readFile(file, 'utf8'));
  if (path === '' || !isMode(mode) || !isFormat(format)) return undefined;
  return {
    policy,
    path,
    mode,
    format,
    maxDays: flags['audit-log-maxage'],
    maxBackups: flags['audit-log-maxbackup'],
    maxMebibytes: flags['audit-log-maxsize'],
  };
}

function isMode(text: string): text is AuditLogMode {
  return (auditLogModes as readonly string[]).includes(text);
}

function isFormat(text: string): text is AuditLogFormat {
  return (auditLogFormats as readonly string[]).includes(text);
}
