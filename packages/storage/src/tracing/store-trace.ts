// StoreTrace records the steps of one call of an ObjectStore, or of an EnvelopeTransformer below it, with their times.
// Subscribers of the channel receive every call; slow calls are also logged. A call that belongs to a traced request is a
// part of its span. Calls and steps have the names of kube-apiserver's store (etcd3/store.go) over every engine, because
// dashboards and people search for "GuaranteedUpdate etcd3".
import { channel } from 'node:diagnostics_channel';
import type { Clock, Logger } from '@kapstan/api';
import { isStorageError } from '../errors/storage-error.ts';
import type { CallSpan, SpanAttributes } from './call-span.ts';

/** Name of the `node:diagnostics_channel` channel on which every finished call is published as a {@link StoreSpan}. */
export const storeChannelName = 'kapstan:storage';

/** The steps of a store that are traced. */
export type StoreStep =
  | 'initial value restored'
  | 'Retry value restored'
  | 'About to Encode'
  | 'Encode succeeded'
  | 'TransformToStorage succeeded'
  | 'Transaction prepared'
  | 'Txn call succeeded'
  | 'Txn call completed'
  | 'Transaction committed'
  | 'decode succeeded'
  | 'value read'
  | 'page read'
  | 'page decoded'
  | EnvelopeStep;

/** Steps of an envelope transformer. Source: value/encrypt/envelope/kmsv2/envelope.go. */
type EnvelopeStep =
  | 'About to encrypt data using DEK'
  | 'Data encryption succeeded'
  | 'About to encode encrypted object'
  | 'Encoded encrypted object'
  | 'About to decode encrypted object'
  | 'Decoded encrypted object'
  | 'About to decrypt DEK using remote service'
  | 'DEK decryption failed'
  | 'DEK decryption succeeded'
  | 'About to decrypt data using DEK'
  | 'Data decryption succeeded';

/**
 * A finished call. It holds keys and sizes, never values. A failure is named by its code, since texts may quote stored
 * data.
 */
export interface StoreSpan {
  /**
   * One of "Create etcd3", "GuaranteedUpdate etcd3", "List(recursive=true) etcd3", "List(recursive=false) etcd3", "Get
   * etcd3", "Delete etcd3", "TransformFromStorage with envelopeTransformer", "TransformToStorage with
   * envelopeTransformer".
   */
  readonly name: string;
  /**
   * Attributes that are known: of a store's call audit-id, key, type, resource, resourceVersion, resourceVersionMatch,
   * limit and continue; of an envelope transformer transformer.provider.name alone.
   */
  readonly attributes: SpanAttributes;
  /** Start of the call, in milliseconds on the store's monotonic clock. */
  readonly startMs: number;
  readonly durationMs: number;
  /** `atMs` counts from the start. `len` is in bytes for an object, in keys for a page. */
  readonly steps: readonly { readonly name: StoreStep; readonly atMs: number; readonly len?: number }[];
  /** Code of a StorageError, reason of a Status, or else the error's name. Absent = the call succeeded. */
  readonly error?: string;
}

export interface TracedCall {
  readonly name: string;
  /** Called only when the attributes are going to be read. */
  readonly attributes: () => SpanAttributes;
  /** The span that the call belongs to. Absent = no request is traced. */
  readonly span?: CallSpan | undefined;
}

interface MadeCall extends Pick<StoreSpan, 'startMs' | 'durationMs'> {
  /** Called only when the steps are going to be read. */
  readonly steps: () => StoreSpan['steps'];
}

/** Calls that take longer than this are logged. Source: etcd3/store.go. */
const slowCallMs = 500;

const finished = channel(storeChannelName);

/** The steps of one call so far. */
export class StoreTrace {
  readonly startMs: number;
  /** The call's part of a request's trace. */
  readonly part: CallSpan | undefined;
  readonly #clock: Clock;
  /** Name, time and length of each step, flattened. They become objects only when they are read. */
  readonly #marks: (StoreStep | number)[] = [];

  constructor(clock: Clock, { span, name, attributes }: TracedCall) {
    this.#clock = clock;
    this.part = span?.startPart(name, attributes());
    this.startMs = clock.monotonicNow();
  }

  /** Records a step. `len`: the number of bytes or keys that it handled. */
  step(name: StoreStep, len = -1): void {
    this.#marks.push(name, this.#clock.monotonicNow(), len);
    this.part?.addEvent(name, len >= 0 ? { len } : {});
  }

  /** Ends the part of a request's trace. */
  end(error: unknown): void {
    if (this.part === undefined) return;
    if (error !== undefined) {
      this.part.addAttributes({ err: nameOf(error) });
      this.part.fail();
    }
    this.part.end();
  }

  steps(): StoreSpan['steps'] {
    const steps: { name: StoreStep; atMs: number; len?: number }[] = [];
    for (let i = 0; i < this.#marks.length; i += 3) {
      const [name, at, len] = this.#marks.slice(i, i + 3) as [StoreStep, number, number];
      steps.push({ name, atMs: at - this.startMs, ...(len >= 0 && { len }) });
    }
    return steps;
  }
}

/** Traces the calls of one store or transformer. */
export class StoreTracer {
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(ports: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = ports.clock;
    this.#logger = ports.logger;
  }

  async run<R>(call: TracedCall, work: (trace: StoreTrace) => Promise<R>): Promise<R> {
    const trace = this.begin(call);
    try {
      const result = await work(trace);
      this.end(call, trace);
      return result;
    } catch (error) {
      this.end(call, trace, error);
      throw error;
    }
  }

  /** Does what {@link run} does for synchronous work. */
  runNow<R>(call: TracedCall, work: (trace: StoreTrace) => R): R {
    const trace = this.begin(call);
    try {
      const result = work(trace);
      this.end(call, trace);
      return result;
    } catch (error) {
      this.end(call, trace, error);
      throw error;
    }
  }

  begin(call: TracedCall): StoreTrace {
    return new StoreTrace(this.#clock, call);
  }

  /** Ends the trace of a call, once. `error`: the reason why the call failed. */
  end(call: TracedCall, trace: StoreTrace, error?: unknown): void {
    const durationMs = this.#clock.monotonicNow() - trace.startMs;
    trace.end(error);
    this.#publish(call, { startMs: trace.startMs, durationMs, steps: () => trace.steps() }, error);
  }

  /** Records a call that took no time worth tracing step by step. */
  made(call: TracedCall, made: MadeCall): void {
    const part = call.span?.startPart(call.name, call.attributes());
    if (part !== undefined) {
      for (const { name, len = 0 } of made.steps()) part.addEvent(name, { len });
      part.end();
    }
    this.#publish(call, made);
  }

  /**
   * Publishes a finished call, and logs it when it was slow. This costs almost nothing when there is no subscriber and
   * the call was fast.
   */
  #publish(call: TracedCall, { startMs, durationMs, steps }: MadeCall, error?: unknown): void {
    const isSlow = durationMs > slowCallMs;
    if (!isSlow && !finished.hasSubscribers) return;
    const failure = error === undefined ? {} : { error: nameOf(error) };
    const { name } = call;
    const span: StoreSpan = { name, attributes: call.attributes(), startMs, durationMs, steps: steps(), ...failure };
    if (isSlow) this.#log(span);
    finished.publish(span);
  }

  #log({ name, attributes, durationMs, steps, ...failure }: StoreSpan): void {
    let lastMs = 0;
    const texts = steps.map((step) => {
      const tookMs = Math.round(step.atMs - lastMs);
      lastMs = step.atMs;
      return `"${step.name}"${step.len === undefined ? '' : ` len:${step.len}`} ${tookMs}ms`;
    });
    const rest = `"END" ${Math.round(durationMs - lastMs)}ms`;
    const fields = {
      ...attributes,
      ...('error' in failure && { error: failure.error }),
      steps: [...texts, rest].join(', '),
    };
    this.#logger.info(`Trace "${name}" (total time: ${Math.round(durationMs)}ms)`, fields);
  }
}

function nameOf(error: unknown): string {
  if (isStorageError(error)) return error.code;
  if (!(error instanceof Error)) return typeof error;
  return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.name;
}
