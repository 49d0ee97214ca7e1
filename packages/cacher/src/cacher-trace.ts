// Records reads of the watch cache: as parts of the traces of requests, and on the channel on which stores publish their calls. Used by
// cacher.ts. Source, also of names and attributes: apiserver storage/cacher (delegator.go, cacher.go).
import { channel } from 'node:diagnostics_channel';
import type { Clock } from '@kapstan/api';
import {
  type CallSpan,
  type SpanAttributes,
  type StorageCallOptions,
  type StoreSpan,
  storeChannelName,
} from '@kapstan/storage';

const finished = channel(storeChannelName);

/** True when the trace is going to be read. */
export function isTraced({ auditId, span }: StorageCallOptions): boolean {
  return span !== undefined || (auditId !== undefined && finished.hasSubscribers);
}

interface TracedRead {
  readonly name: string;
  readonly attributes: SpanAttributes;
  readonly clock: Clock;
  /** The options of the call. */
  readonly options: StorageCallOptions;
}

/**
 * Does the work and records how long it took. Call it only when {@link isTraced} is true. `part`: the span of the work.
 */
export async function traced<R>(
  { name, attributes, clock, options: { auditId = '', span } }: TracedRead,
  work: (part: CallSpan | undefined) => Promise<R>,
): Promise<R> {
  const all = { 'audit-id': auditId, ...attributes };
  const part = span?.startPart(name, all);
  const startMs = clock.monotonicNow();
  const told = (): StoreSpan => ({
    name,
    attributes: all,
    startMs,
    durationMs: clock.monotonicNow() - startMs,
    steps: [],
  });
  try {
    const result = await work(part);
    finished.publish(told());
    return result;
  } catch (error) {
    part?.fail();
    finished.publish({ ...told(), error: error instanceof Error ? error.name : typeof error });
    throw error;
  } finally {
    part?.end();
  }
}
