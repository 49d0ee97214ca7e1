// AuditBackends gives each audit event to the log and to the webhook, each in its own mode, and counts. audit-trail.ts
// writes to it. Source: apiserver server/options/audit.go, pkg/audit/union.go.
import { type Clock, type Logger, silentLogger, systemClock } from '@kapstan/api';
import type {
  AuditBackend,
  AuditBatching,
  AuditMode,
  AuditSender,
  AuditThrottle,
  AuditTruncation,
} from './audit-backend.ts';
import { AuditBuffer } from './audit-buffer.ts';
import { AuditCounts } from './audit-counts.ts';
import type { AuditEvent } from './audit-event.ts';
import { AuditLog, type AuditLogOptions } from './audit-log.ts';
import type { AuditLevel } from './audit-policy.ts';
import { AuditRecord } from './audit-record.ts';
import { AuditWebhook, type AuditWebhookOptions } from './audit-webhook.ts';
import { BlockingBackend } from './blocking-backend.ts';
import { TruncatingBackend } from './truncating-backend.ts';

/** Says when events are sent, and how large they may be. */
export interface AuditDelivery {
  /** Default blocking for a log, batch for a webhook. */
  readonly mode?: AuditMode | undefined;
  readonly batching?: AuditBatching | undefined;
  /** Default: events of any size. */
  readonly truncation?: AuditTruncation | undefined;
}

type Ports = 'counts' | 'clock' | 'logger' | 'random';

/** Options of {@link AuditBackends}. */
export interface AuditBackendsOptions {
  readonly log?: (Omit<AuditLogOptions, Ports> & AuditDelivery) | undefined;
  readonly webhook?: (Omit<AuditWebhookOptions, Ports> & AuditDelivery) | undefined;
  /** Maximum number of bytes of all events that wait or are being sent, for each backend. Default 64 MiB. */
  readonly maxWaitingBytes?: number | undefined;
  /** How long {@link AuditBackends.close} waits for the remaining events. Default 10 s. */
  readonly closeTimeoutMs?: number | undefined;
  /**
   * Largest object in an event, in bytes. A larger one is left out, and the event says that it is missing. Default 10
   * MiB.
   */
  readonly maxObjectBytes?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
  readonly random?: (() => number) | undefined;
}

const mebibyte = 1024 * 1024;
const maxEvents = 10_000;
/** Maximum size of a webhook's batch, whatever the number of its events. */
const maxBatchBytes = 10 * mebibyte;
/** Number of batches that are posted to a webhook at the same time. Each may take minutes with its retries. */
const maxPosts = 16;

interface BackendDefaults {
  readonly mode: AuditMode;
  readonly maxBatchEvents: number;
  readonly maxWaitMs: number;
  readonly throttle: AuditThrottle | 'off';
  readonly maxSends: number;
}

/** Source: defaultLogBatchConfig, defaultWebhookBatchConfig. A log writes all lines that wait at once. */
const logDefaults: BackendDefaults = {
  mode: 'blocking',
  maxBatchEvents: 1,
  maxWaitMs: 0,
  throttle: 'off',
  maxSends: Number.POSITIVE_INFINITY,
};
const webhookDefaults: BackendDefaults = {
  mode: 'batch',
  maxBatchEvents: 400,
  maxWaitMs: 30_000,
  throttle: { perSecond: 10, burst: 15 },
  maxSends: maxPosts,
};

/** Gives audit events to all backends, and counts those that were lost. */
export class AuditBackends {
  readonly #counts = new AuditCounts();
  readonly #backends: readonly AuditBackend[];
  readonly #closeTimeoutMs: number;
  readonly #logger: Logger;
  /** Larger objects are left out of all events. */
  readonly maxObjectBytes: number;

  constructor(options: AuditBackendsOptions) {
    const { log, webhook, clock, logger, random } = options;
    this.#logger = logger ?? silentLogger;
    const ports = { counts: this.#counts, clock, logger, random };
    this.#backends = [
      ...(log === undefined
        ? []
        : [this.#backend(new AuditLog({ ...log, ...ports }), log, { options, ...logDefaults })]),
      ...(webhook === undefined
        ? []
        : [this.#backend(new AuditWebhook({ ...webhook, ...ports }), webhook, { options, ...webhookDefaults })]),
    ];
    this.#closeTimeoutMs = options.closeTimeoutMs ?? 10_000;
    this.maxObjectBytes = largestObject(options);
  }

  /** Returns the metrics as Prometheus text, under kube-apiserver's names. */
  metrics(): string {
    return this.#counts.metrics();
  }

  countLevel(level: AuditLevel): void {
    this.#counts.level(level);
  }

  /** Logs and counts an event that could not be made or written because of an unexpected error. */
  reportLoss(error: unknown): void {
    this.#counts.lost('buffered', 1);
    this.#logger.error('an audit event could not be recorded', { error: String(error) });
  }

  countRejection(): void {
    this.#counts.rejection();
  }

  /** Resolves when the event's request may proceed. False = the event is lost, and the request should be refused. */
  async write(event: AuditEvent): Promise<boolean> {
    this.#counts.event();
    const record = new AuditRecord(event);
    const [first, second] = this.#backends;
    if (first === undefined) return true;
    if (second === undefined) return first.write(record);
    const taken = await Promise.all([first.write(record), second.write(record)]);
    return taken.every((isTaken) => isTaken);
  }

  /** Resolves when all waiting events are sent or lost. Sends that hang are given up when the time is over. */
  async close(): Promise<void> {
    await Promise.all(this.#backends.map((backend) => backend.close(this.#closeTimeoutMs)));
  }

  #backend(
    sender: AuditSender,
    { mode, batching = {}, truncation }: AuditDelivery,
    { options, ...defaults }: BackendDefaults & { readonly options: AuditBackendsOptions },
  ): AuditBackend {
    const { clock = systemClock, logger, maxWaitingBytes = 64 * mebibyte } = options;
    const counts = this.#counts;
    const how = mode ?? defaults.mode;
    const budget = { maxEvents: batching.maxEvents ?? maxEvents, maxBytes: maxWaitingBytes };
    const backend =
      how === 'batch'
        ? new AuditBuffer({
            ...budget,
            sender,
            maxBatchEvents: batching.maxBatchEvents ?? defaults.maxBatchEvents,
            maxBatchBytes: truncation?.maxBatchBytes ?? maxBatchBytes,
            maxWaitMs: batching.maxWaitMs ?? defaults.maxWaitMs,
            throttle: batching.throttle ?? defaults.throttle,
            maxSends: defaults.maxSends,
            counts,
            clock,
            logger,
          })
        : new BlockingBackend({ ...budget, sender, isStrict: how === 'blocking-strict', counts });
    if (truncation === undefined) return backend;
    return new TruncatingBackend({ backend, maxEventBytes: truncation.maxEventBytes, counts, logger });
  }
}

/** An object that is larger than every backend's limit for an event need not be encoded. */
function largestObject({ log, webhook, maxObjectBytes = 10 * mebibyte }: AuditBackendsOptions): number {
  const limits = [log, webhook].flatMap((backend) =>
    backend === undefined ? [] : [backend.truncation?.maxEventBytes ?? Number.POSITIVE_INFINITY],
  );
  return Math.min(maxObjectBytes, Math.max(...limits, 0));
}
