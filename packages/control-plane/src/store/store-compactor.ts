// Compacts the embedded store at intervals, as kube-apiserver does with etcd: history lasts one to two intervals.
import type { CancelTimer, Clock, Logger, Revision } from '@kapstan/api';
import { type Engine, isStorageError } from '@kapstan/storage';

export interface StoreCompactorOptions {
  readonly engine: Engine;
  /** Time between compactions, in milliseconds. 0 = never. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Starts at once; the returned function stops it. The first round compacts nothing and only notes the current revision. */
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
        logger.warn('could not compact the store; retrying at the next interval', { error: String(error) });
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
