// Audit: the policy and the log of a control plane, made of its options. Opened by control-plane.ts, used by serving.ts.
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
  /** Text of a Policy of audit.k8s.io/v1: of which requests how much is recorded. */
  readonly policy: string;
  /** File of the log, made when absent; "-" = standard output. */
  readonly path: string;
  /** Default json. */
  readonly format?: AuditLogFormat;
  /** Default blocking: an event is written before its request goes on, and before it is answered. */
  readonly mode?: AuditLogMode;
  /** Size beyond which the file is put aside, in mebibytes. 0 = never. Default 100. */
  readonly maxMebibytes?: number;
  /** How many files that were put aside are kept. 0 = all. Default 100. */
  readonly maxBackups?: number;
  /** How long they are kept, in days. 0 = without end. Default 366. */
  readonly maxDays?: number;
}

/** Undefined without settings. Rejects with a StartError for the policy or the path. */
export async function openAudit(
  settings: AuditSettings | undefined,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<AuditOptions | undefined> {
  if (settings === undefined) return undefined;
  const { policy: text, path, format, mode, ...limits } = settings;
  const { policy, warning } = await startingWith('audit.policy', () => parseAuditPolicy(text));
  if (warning !== undefined) logger.warn('The audit policy is not as it should be', { warning });
  const target = await startingWith('audit.path', () =>
    path === '-' ? streamTarget(process.stdout) : AuditLogFile.open({ path, clock, ...limits }),
  );
  return { policy, log: new AuditLog({ target, logger, ...(format && { format }), ...(mode && { mode }) }) };
}

/** Lines to a stream whose reader may be slow, or go away. */
export function streamTarget(stream: Writable): AuditLogTarget {
  tolerateErrors(stream);
  return {
    append: (lines) =>
      new Promise((resolve, reject) => {
        stream.write(lines, (error) => (error ? reject(error) : resolve()));
      }),
  };
}
