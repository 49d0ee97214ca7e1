// Opens the audit policy and log of a control plane from its options. Called by control-plane.ts, used by serving.ts.
import type { Writable } from 'node:stream';
import type { Clock, Logger } from '@kapstan/api';
import {
  AuditLog,
  AuditLogFile,
  type AuditLogFormat,
  type AuditLogMode,
  type AuditLogTarget,
  type AuditOptions,
  parseAuditPolicy,
} from '@kapstan/apiserver';
import { tolerateErrors } from './command/standard-streams.ts';
import { startingWith } from './start-error.ts';

export interface AuditSettings {
  /** Text of a Policy of audit.k8s.io/v1, which decides how much of each request is recorded. */
  readonly policy: string;
  /** Path of the log file, created when absent; "-" = standard output. */
  readonly path: string;
  /** Default json. */
  readonly format?: AuditLogFormat;
  /** Default blocking: an event is written before its request proceeds, and before the answer is sent. */
  readonly mode?: AuditLogMode;
  /** Size in mebibytes beyond which the file is rotated. 0 = never. Default 100. */
  readonly maxMebibytes?: number;
  /** Number of rotated files to keep. 0 = all. Default 100. */
  readonly maxBackups?: number;
  /** Days to keep rotated files. 0 = forever. Default 366. */
  readonly maxDays?: number;
}

/** Returns undefined without settings. Rejects with a StartError when the policy or the path cannot be used. */
export async function openAudit(
  settings: AuditSettings | undefined,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<AuditOptions | undefined> {
  if (settings === undefined) return undefined;
  const { policy: text, path, format, mode, ...limits } = settings;
  const { policy, warning } = await startingWith('audit.policy', () => parseAuditPolicy(text));
  if (warning !== undefined)
    logger.warn('the audit policy has unknown or duplicate fields, which are ignored', { warning });
  const target = await startingWith('audit.path', () =>
    path === '-' ? streamTarget(process.stdout) : AuditLogFile.open({ path, clock, ...limits }),
  );
  return { policy, log: new AuditLog({ target, logger, ...(format && { format }), ...(mode && { mode }) }) };
}

/** Writes lines to a stream whose reader may be slow or go away. */
export function streamTarget(stream: Writable): AuditLogTarget {
  tolerateErrors(stream);
  return {
    append: (lines) =>
      new Promise((resolve, reject) => {
        stream.write(lines, (error) => (error ? reject(error) : resolve()));
      }),
  };
}
