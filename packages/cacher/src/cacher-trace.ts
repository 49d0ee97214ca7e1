// Publishes reads of the watch cache, as stores publish their calls, for the traces of requests. Used by cacher.ts.
// Source, also of names and attributes: apiserver storage/cacher (delegator.go, cacher.go).
import { channel } from 'node:diagnostics_channel';
import type { Clock } from '@kapstan/api';
import { type SpanAttributes, type StoreSpan, storeChannelName } from '@kapstan/storage';

const finished = channel(storeChannelName);

/** True when the calls have a subscriber. */
export function isTraced(auditId: string | undefined): boolean {
  return auditId !== undefined && finished.hasSubscribers;
}

/** Does the work and publishes how long it took. Call it where {@link isTraced}. */
export async function traced<R>(
  { name, attributes, clock }: { readonly name: string; readonly attributes: SpanAttributes; readonly clock: Clock },
  work: () => Promise<R>,
): Promise<R> {
  const startMs = clock.monotonicNow();
  const span = (): StoreSpan => ({ name, attributes, startMs, durationMs: clock.monotonicNow() - startMs, steps: [] });
  try {
    const result = await work();
    finished.publish(span());
    return result;
  } catch (error) {
    finished.publish({ ...span(), error: error instanceof Error ? error.name : typeof error });
    throw error;
  }
}
