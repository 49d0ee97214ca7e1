// Logs how many objects the caches have loaded while a server starts on a large store. Used by resources.ts.
import type { Clock, Logger } from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';
import type { ResourceStack } from '@kapstan/apiserver';

const periodMs = 1_000;

export interface LoadProgressOptions {
  /** Grows as custom resources are found. */
  readonly open: ReadonlySet<ResourceStack>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Logs progress once a second until all caches are loaded; logs nothing when that takes less than a second. The returned function stops it.
 */
export function reportLoading({ open, clock, logger }: LoadProgressOptions): () => void {
  let cancel = (): void => undefined;
  const arm = (): void => {
    cancel = clock.setBackgroundTimer(report, periodMs);
  };
  const report = (): void => {
    const loading = [...open].flatMap(({ cacher, served }) => {
      const inspection = cacher?.inspect();
      if (inspection === undefined || inspection.state !== 'pending') return [];
      return [{ resource: formatGroupResource(served.definition), objects: inspection.loading }];
    });
    const most = loading.reduce((a, b) => (b.objects > a.objects ? b : a), { resource: '', objects: 0 });
    const objects = loading.reduce((sum, one) => sum + one.objects, 0);
    logger.info('loading objects', { objects, unread: loading.length, most: most.resource });
    arm();
  };
  arm();
  return () => cancel();
}
