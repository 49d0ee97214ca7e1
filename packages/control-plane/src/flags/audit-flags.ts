// The flags of `kapstan serve` about the audit log, under kube-apiserver's names. Part of serve-flags.ts; serve.ts makes options of
// them. Source: server/options/audit.go, whose texts these are.
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
/** What is below zero is told with what else is wrong. */
const countFlag = (help: string, defaultValue: number): Flag<number> =>
  intFlag(help, { default: defaultValue, min: -maxInt, max: maxInt });

export const auditFlags: { readonly [K in keyof AuditFlags]: Flag<AuditFlags[K]> } = {
  'audit-policy-file': stringFlag(
    'File with the policy that says of which requests how much is recorded. Needs --audit-log-path.',
  ),
  'audit-log-path': stringFlag('File that events are added to; - is the standard output. Needs --audit-policy-file.'),
  'audit-log-format': stringFlag('Form of an event: json, or legacy, a line of text.', 'json'),
  'audit-log-mode': stringFlag(
    'batch: requests do not wait for the log; blocking: they do; blocking-strict: and are refused when it fails.',
    'blocking',
  ),
  'audit-log-version': stringFlag('Version of the events in JSON.', version),
  'audit-log-maxage': countFlag('How many days files that were put aside are kept; 0 = without end.', 366),
  'audit-log-maxbackup': countFlag('How many files that were put aside are kept; 0 = all.', 100),
  'audit-log-maxsize': countFlag('Mebibytes beyond which the file is put aside; 0 = never.', 100),
};

/** A log that is not asked for is not looked at. */
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

/** What one of the two needs of the other. */
export function auditFlagWarnings(flags: Pick<AuditFlags, 'audit-policy-file' | 'audit-log-path'>): readonly string[] {
  const [hasPolicy, hasPath] = [flags['audit-policy-file'] !== '', flags['audit-log-path'] !== ''];
  if (hasPolicy === hasPath) return [];
  const missing = hasPolicy ? 'audit-log-path' : 'audit-policy-file';
  return [`no request is recorded: --${hasPolicy ? 'audit-policy-file' : 'audit-log-path'} needs --${missing}`];
}

/** Reads the policy; rejects when it cannot be read. Undefined when nothing is recorded. */
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
