// Compacts the embedded store now and then, as kube-apiserver does with etcd: history lasts one to two intervals.
import type { CancelTimer, Clock, Logger, Revision } from '@kapstan/api';
import { type Engine, isStorageError } from '@kapstan/storage';

export interface StoreCompactorOptions {
  readonly engine: Engine;
  /** Time between two compactions, in milliseconds. 0 = none. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Starts at once; the returned function ends it. The first round compacts nothing: it only notes where history is. */
export function startStoreCompactor({ engine, intervalMs, clock, logger }: StoreCompactorOptions): () => void {
  let noted: Revision | undefined;
  let cancel: CancelTimer = () => undefined;
  let isOver = false;
  const round = async (): Promise<void> => {
    try {
      const now = await engine.currentRevision();
      if (noted !== undefined && noted > engine.compactRevision()) await engine.compact(noted);
      noted = now;
    } catch (error) {
      if (!isOver && !isStorageError(error, 'Closed'))
        logger.warn('The store could not be compacted', { error: String(error) });
    }
    if (!isOver) arm();
  };
  const arm = (): void => {
    cancel = clock.setBackgroundTimer(() => void round(), intervalMs);
  };
  if (intervalMs > 0) arm();
  return () => {
    isOver = true;
    cancel();
  };
}
