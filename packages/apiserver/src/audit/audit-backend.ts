// The ports of the audit: a sender writes or posts records, a backend decides when and whether a request waits for it.
// audit-log.ts and audit-webhook.ts are senders; blocking-backend.ts and audit-buffer.ts are backends.
import type { AuditRecord } from './audit-record.ts';

/**
 * batch: events are sent while requests proceed. blocking: an event is sent, or lost, before its request proceeds or is
 * answered. blocking-strict: in addition, a request whose first event is lost is refused.
 */
export const auditModes = ['batch', 'blocking', 'blocking-strict'] as const;
/** How a backend takes audit events: while the request waits, before it is answered, or in batches. */
export type AuditMode = (typeof auditModes)[number];

/** Controls how events are gathered in the mode batch. In the other modes, `maxEvents` is the only limit. */
export interface AuditBatching {
  /** Maximum number of events that wait or are being sent; further ones are lost. Default 10 000. */
  readonly maxEvents?: number | undefined;
  /** Maximum number of events in a batch. Default 1 for a log, 400 for a webhook. */
  readonly maxBatchEvents?: number | undefined;
  /** Time for which an event waits for others of its batch. Default 0 for a log, 30 s for a webhook. */
  readonly maxWaitMs?: number | undefined;
  /** Limit on batches. Default 'off' for a log, 10 per second and 15 at once for a webhook. */
  readonly throttle?: AuditThrottle | 'off' | undefined;
}

/** Limits how often batches of audit events go out. */
export interface AuditThrottle {
  /** Batches per second in the long run. */
  readonly perSecond: number;
  /** Number of batches that may be sent at once. */
  readonly burst: number;
}

/** Limits on the size of events for a backend. */
export interface AuditTruncation {
  /** Size of an event in JSON. A larger one loses its objects; one that is still too large is lost. */
  readonly maxEventBytes: number;
  /** Size of a batch. */
  readonly maxBatchBytes: number;
}

/** Writes or posts records. */
export interface AuditSender {
  /** Resolves to false when the records are lost, which the sender has counted. Never rejects. */
  send(records: readonly AuditRecord[]): Promise<boolean>;
  /** Resolves when all records are sent; those that are not sent within the time are lost. */
  close(withinMs: number): Promise<void>;
}

export interface AuditBackend {
  /** Resolves when the event's request may proceed. False = the event is lost, and the request should be refused. */
  write(record: AuditRecord): Promise<boolean>;
  /** Sends the waiting records while the time lasts. */
  close(withinMs: number): Promise<void>;
}
