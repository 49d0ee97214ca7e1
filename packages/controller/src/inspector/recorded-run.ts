// Records the runs of one controller in its history: around the reconcile function, and under its client. Used by controller-runner.ts
// where the inspector is on.
import type { ResourceClient } from '@kapstan/api';
import type { SyncHandler } from '../reconcile/reconcile-loop.ts';
import type { WorkQueueObserver } from '../workqueue/index.ts';
import { RecordingClient } from './recording-client.ts';
import type { RunHistory } from './run-history.ts';
import { nextWakeAfter, nextWakeOf } from './wake-causes.ts';

const maxWrites = 20;

/** Returns the handler, with a run in the history for each call. */
export function recordedHandler(history: RunHistory, reconcile: SyncHandler): SyncHandler {
  return async (request, context) => {
    const run = history.begin(request.key, context.attempt);
    try {
      const result = await reconcile(request, context);
      history.ended(request.key, run, nextWakeOf(result?.requeueAfterMs));
      return result;
    } catch (error) {
      history.ended(request.key, run, nextWakeAfter(error));
      throw error;
    }
  };
}

/** Returns the client of the run of a key, which records its writes. */
export function recordedClient(history: RunHistory, key: string, client: ResourceClient): ResourceClient {
  const writes = history.currentOf(key)?.writes;
  if (writes === undefined) return client;
  return new RecordingClient(client, {
    begin: (write) => {
      if (writes.items.length < maxWrites) return writes.items.push(write) - 1;
      writes.more++;
      return undefined;
    },
    end: (place, write) => {
      writes.items[place] = write;
    },
    now: () => history.now(),
    errorText: history.errorText,
  });
}

/** Returns an observer that passes everything to both. */
export function bothObservers<K>(one: WorkQueueObserver<K>, other: WorkQueueObserver<K>): WorkQueueObserver<K> {
  return {
    added: (...told) => {
      one.added?.(...told);
      other.added?.(...told);
    },
    raised: (...told) => {
      one.raised?.(...told);
      other.raised?.(...told);
    },
    started: (...told) => {
      one.started?.(...told);
      other.started?.(...told);
    },
    finished: (...told) => {
      one.finished?.(...told);
      other.finished?.(...told);
    },
    retried: (...told) => {
      one.retried?.(...told);
      other.retried?.(...told);
    },
    released: (...told) => {
      one.released?.(...told);
      other.released?.(...told);
    },
  };
}
