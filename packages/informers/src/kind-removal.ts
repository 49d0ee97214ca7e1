// Notices that the kind of an informer is not served any more. Used by the factory.
import { isStatusError, type KubernetesObject, StatusError } from '@kapstan/api';
import { errorText, type Warn } from './process-warning.ts';
import type { SharedInformer } from './shared-informer.ts';

export interface KindRemovalOptions {
  /** What is listed, for texts. */
  readonly name: string;
  /** Asked after an answer of 404; one question at a time. A rejection is told to `warn`. */
  readonly isServed: () => Promise<boolean>;
  readonly warn: Warn;
  /** The kind is gone; `reason` is a 404 that says so. */
  readonly onGone: (reason: StatusError) => void;
}

/** Looks until the informer closes. A kind that the informer has not seen yet is not gone: it may come. */
export function watchKindRemoval(informer: SharedInformer<KubernetesObject>, options: KindRemovalOptions): void {
  const { name, isServed, warn, onGone } = options;
  const isMissing = (): boolean => informer.hasSynced && !informer.isStopped && isUnknown(informer.status.error);
  const ask = async (): Promise<void> => {
    try {
      // It may have come back meanwhile.
      if ((await isServed()) || !isMissing()) return;
      const message = `${name}: not served any more, the informer is removed`;
      onGone(new StatusError({ code: 404, reason: 'NotFound', message }, { cause: informer.status.error }));
    } catch (error) {
      warn(`${name}: failed to ask whether it is still served: ${errorText(error)}`, error);
    }
  };
  let isAsking = false;
  informer.status$.subscribe(() => {
    if (isAsking || !isMissing()) return;
    isAsking = true;
    void ask().finally(() => {
      isAsking = false;
    });
  });
}

/** Also without a reason, as a proxy may say it. */
const isUnknown = (error: unknown): boolean => isStatusError(error) && error.code === 404;
