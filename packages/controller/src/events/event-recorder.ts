// EventRecorder writes core/v1 Events about objects, correlated and in the background, so that a reconcile neither
// waits for them nor fails because of them. Source: client-go tools/record/event.go.
import { randomUUID } from 'node:crypto';
import {
  type CancelTimer,
  type Clock,
  delay,
  formatTime,
  isNotFound,
  isStatusError,
  type KubernetesObject,
  type LogFields,
  type Logger,
  type ResourceClient,
  silentLogger,
  systemClock,
} from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import {
  boundCallbacks,
  checkedElsewhere,
  type OptionTable,
  objectWith,
  optional,
  requireClock,
  requireFunctions,
  requireLogger,
  requireString,
} from '@kapstan/api/internal';
import { Event } from '@kapstan/kinds/core/v1';
import { guardedLogger } from '../guards/guarded-logger.ts';
import { requirePartOptions } from '../guards/part-options.ts';
import { type CorrelatedEvent, EventCorrelator, type EventDraft, type InvolvedObject } from './event-correlator.ts';

/** Options of an {@link EventRecorder}. */
export interface EventRecorderOptions {
  readonly client: ResourceClient;
  /** The source of the events: the controller's name. */
  readonly component: string;
  /** Host on which it runs. Default ''. */
  readonly host?: string;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly logger?: Logger;
  readonly correlator?: EventCorrelator;
}

/** The content of an Event, without its object. */
export interface EventMessage {
  readonly type: 'Normal' | 'Warning';
  /** The reason, as one word in CamelCase. */
  readonly reason: string;
  readonly message: string;
  /** Annotations of the Event. */
  readonly annotations?: Readonly<Record<string, string>>;
}

const optionTable: OptionTable<EventRecorderOptions> = {
  client: (client) => requireFunctions(client, 'the client of an EventRecorder', ['create', 'patch']),
  component: requireComponent,
  host: checkedElsewhere,
  clock: requireClock,
  random: checkedElsewhere,
  logger: requireLogger,
  correlator: optional(objectWith('correlate')),
};
const maxQueued = 1000;
/** Time between two log lines about dropped events, in milliseconds. */
const dropLineMs = 60_000;
const maxAttempts = 12;
const retryDelayMs = 10_000;

/**
 * Keeps the order of recording. At most 1000 events wait; more are dropped and counted.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { EventRecorder } from '@kapstan/controller';
 * import { ConfigMap } from '@kapstan/kinds/core/v1';
 *
 * const client = await connect();
 * const recorder = new EventRecorder({ client, component: 'reports' });
 * const object = await client.get(ConfigMap, { name: 'settings', namespace: 'default' });
 * recorder.record(object, { type: 'Normal', reason: 'Read', message: 'the settings were read' });
 * await recorder.close();
 * ```
 */
export class EventRecorder {
  readonly #options: Required<Omit<EventRecorderOptions, 'correlator'>>;
  readonly #correlator: EventCorrelator;
  readonly #queue: EventDraft[] = [];
  readonly #stop = new AbortController();
  // Invariant: it changes in the turns in which sending begins and ends; events recorded meanwhile are sent too.
  #isSending = false;
  #sending: Promise<void> = Promise.resolve();
  #dropped = 0;
  /** Dropped events that no line has reported yet. */
  #untold = 0;
  #cancelDropLine: CancelTimer | undefined;
  /** Aborts the pauses before retries; a write that fails from then on is given up. */
  readonly #hurry = new AbortController();
  #unwritten = 0;

  /** Throws TypeError on bad options. */
  constructor(options: EventRecorderOptions) {
    requirePartOptions(options, optionTable, 'an EventRecorder');
    const clock = options.clock ?? systemClock;
    const logger = guardedLogger(options.logger ?? silentLogger);
    this.#options = { host: '', random: Math.random, ...boundCallbacks(options, ['random']), logger, clock };
    this.#correlator = options.correlator ?? new EventCorrelator({ clock });
  }

  /** Number of events dropped because too many waited. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Records something about an object (which needs apiVersion, kind and a name). Returns at once; ignored after close.
   */
  record(object: KubernetesObject, event: EventMessage): void {
    if (this.#stop.signal.aborted) return;
    const { component, host } = this.#options;
    const refuse = (problem: string): void =>
      this.#options.logger.error(problem, { component, object: nameOf(object), ...event });
    if (event.type !== 'Normal' && event.type !== 'Warning') return refuse('Unsupported event type');
    const involvedObject = referenceTo(object);
    if (involvedObject === undefined) return refuse('Could not construct reference, will not report event');
    if (this.#queue.length >= maxQueued) return this.#drop(refuse);
    this.#queue.push({
      type: event.type,
      reason: event.reason,
      message: event.message,
      annotations: event.annotations && { ...event.annotations },
      component,
      host,
      recordedAtMs: this.#options.clock.now(),
      involvedObject,
    });
    if (!this.#isSending) this.#sending = this.#sendAll();
  }

  /** Events that wait or are being written. */
  get waiting(): number {
    return this.#queue.length + (this.#isSending ? 1 : 0);
  }

  /** Resolves when everything recorded so far is written or given up. */
  async flush(): Promise<void> {
    await this.#sending;
  }

  /** Does what {@link flush} does, without the pauses before retries, because a program that ends has little time. */
  async drain(): Promise<void> {
    this.#hurry.abort();
    await this.#sending;
  }

  /**
   * Gives up on the event under way and all that wait, which a warning counts; {@link flush} first writes them.
   * Idempotent.
   */
  async close(): Promise<void> {
    this.#hurry.abort();
    this.#stop.abort();
    await this.#sending;
    this.#tellDropped();
    this.#unwritten += this.#queue.splice(0).length;
    const events = this.#unwritten;
    this.#unwritten = 0;
    const { component, logger } = this.#options;
    if (events > 0) logger.warn('events were not written before the end', { component, events });
  }

  /**
   * Logs the first drop, then one line a minute with the number, because thousands of lines would give no more
   * information.
   */
  #drop(refuse: (problem: string) => void): void {
    this.#dropped++;
    if (this.#cancelDropLine !== undefined) {
      this.#untold++;
      return;
    }
    refuse('Unable to record event: too many queued events, dropped event');
    this.#armDropLine();
  }

  #armDropLine(): void {
    this.#cancelDropLine = this.#options.clock.setBackgroundTimer(() => {
      const isOver = this.#untold === 0;
      this.#tellDropped();
      if (!isOver) this.#armDropLine();
    }, dropLineMs);
  }

  #tellDropped(): void {
    this.#cancelDropLine?.();
    this.#cancelDropLine = undefined;
    const events = this.#untold;
    this.#untold = 0;
    const { component, logger } = this.#options;
    if (events > 0)
      logger.error('Unable to record events: too many queued events, dropped events', { component, events });
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
    this.#isSending = true;
    try {
      for (let draft = this.#queue.shift(); draft !== undefined; draft = this.#queue.shift()) {
        await this.#sendOne(draft);
        if (this.#stop.signal.aborted) break;
      }
    } finally {
      this.#isSending = false;
    }
  }

  /** Never rejects, because trouble with one event must not silence the recorder. */
  async #sendOne(draft: EventDraft): Promise<void> {
    try {
      const correlated = this.#correlator.correlate(draft);
      if (correlated.type !== 'skip') await this.#send(draft, correlated);
    } catch (error) {
      this.#options.logger.error('Unable to write event (will not retry!)', { ...fieldsOf(draft), error });
    }
  }

  async #send(draft: EventDraft, correlated: Exclude<CorrelatedEvent, { type: 'skip' }>): Promise<void> {
    // All attempts use the same event, because one that was written although its answer was lost must not be written
    // twice.
    const event = this.#newEvent(draft, correlated);
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      try {
        return await this.#write(event, correlated);
      } catch (error) {
        if (this.#stop.signal.aborted) {
          this.#unwritten++;
          return;
        }
        const fields = { ...fieldsOf(draft), error };
        // The server has answered, and another attempt would get the same answer.
        if (isStatusError(error)) return this.#options.logger.info('Server rejected event (will not retry!)', fields);
        if (!this.#hurry.signal.aborted)
          this.#options.logger.warn('Unable to write event (may retry after sleeping)', fields);
      }
      if (this.#hurry.signal.aborted || !(await this.#pause(attempt))) {
        this.#unwritten++;
        return;
      }
    }
    this.#options.logger.error('Unable to write event (retry limit exceeded!)', fieldsOf(draft));
  }

  /** Waits before the next attempt; returns false when there should be none. */
  async #pause(attempt: number): Promise<boolean> {
    const { clock, random } = this.#options;
    const pauseMs = attempt === 0 ? retryDelayMs * random() : retryDelayMs;
    return await delay(clock, pauseMs, this.#hurry.signal).then(
      () => true,
      // Allows one more attempt unless the recorder is closed.
      () => !this.#stop.signal.aborted,
    );
  }

  async #write(event: Event, correlated: Exclude<CorrelatedEvent, { type: 'skip' }>): Promise<void> {
    const { signal } = this.#stop;
    if (correlated.type === 'count') {
      const { count, message, lastTimestamp } = event;
      try {
        const body = { count, message, lastTimestamp };
        await this.#options.client.patch(Event, correlated.written, { type: 'strategic', body }, { signal });
        return;
      } catch (error) {
        // The event has expired meanwhile, so a new one begins with the count reached.
        if (!isNotFound(error)) throw error;
      }
    }
    await this.#options.client.create(Event, event, { signal });
    correlated.onWritten({ name: event.metadata?.name ?? '', namespace: event.metadata?.namespace ?? '' });
  }

  #newEvent(draft: EventDraft, correlated: Exclude<CorrelatedEvent, { type: 'skip' }>): Event {
    const { component, host, involvedObject, recordedAtMs, annotations } = draft;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: this.#nameFor(draft),
        namespace: involvedObject.namespace || 'default',
        ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      },
      involvedObject: { ...involvedObject },
      type: draft.type,
      reason: draft.reason,
      message: correlated.message,
      source: { component, ...(host === '' ? {} : { host }) },
      firstTimestamp: formatTime(correlated.firstTimestampMs),
      lastTimestamp: formatTime(recordedAtMs),
      count: correlated.type === 'count' ? correlated.count : 1,
      reportingComponent: component,
      reportingInstance: host,
    };
  }

  /** The name is as in client-go: the object's name and nanoseconds; a UUID if that is not a valid name. */
  #nameFor({ involvedObject, recordedAtMs }: EventDraft): string {
    const belowMs = BigInt(Math.floor(this.#options.random() * 1_000_000));
    const nanos = BigInt(Math.floor(recordedAtMs)) * 1_000_000n + belowMs;
    const name = `${involvedObject.name}.${nanos.toString(16)}`;
    return dnsSubdomainErrors(name).length === 0 ? name : randomUUID();
  }
}

/** Returns source, object and reason for the log. */
function fieldsOf({ component, involvedObject, reason }: EventDraft): LogFields {
  return { component, object: nameOf({ ...involvedObject, metadata: involvedObject }), reason };
}

/** Returns, for example, "Pod default/a". */
function nameOf({ kind = 'object', metadata = {} }: KubernetesObject): string {
  const { namespace, name = '' } = metadata;
  return `${kind} ${namespace ? `${namespace}/` : ''}${name}`;
}

/** Returns undefined when the object has no kind or apiVersion. */
function referenceTo(object: KubernetesObject): InvolvedObject | undefined {
  const { apiVersion, kind, metadata } = object;
  if (apiVersion === undefined || kind === undefined || metadata?.name === undefined) return undefined;
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

function requireComponent(component: unknown): void {
  requireString(component, 'component');
  if (component === '') throw new TypeError('component must say who records: the name of the controller');
}
