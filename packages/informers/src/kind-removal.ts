// Detects that the kind of an informer is no longer served. Used by the factory.
import { isStatusError, type KubernetesObject, StatusError } from '@kapstan/api';
import { errorText, type Warn } from './guards/process-warning.ts';
import type { SharedInformer } from './shared-informer.ts';

export interface KindRemovalOptions {
  /** Name of the listed objects, for texts. */
  readonly name: string;
  /** Called after a 404, one call at a time. A rejection is passed to `warn`. */
  readonly isServed: () => Promise<boolean>;
  readonly warn: Warn;
  /** Called when the kind is gone; `reason` is a 404 with that message. */
  readonly onGone: (reason: StatusError) => void;
}

/** Checks until the informer closes. A kind that the informer has not seen yet is not gone, because it may still come. */
export function watchKindRemoval(informer: SharedInformer<KubernetesObject>, options: KindRemovalOptions): void {
  const { name, isServed, warn, onGone } = options;
  const isMissing = (): boolean => informer.hasSynced && !informer.isStopped && isUnknown(informer.status.error);
  const ask = async (): Promise<void> => {
    try {
      // The kind may have come back meanwhile.
      if ((await isServed()) || !isMissing()) return;
      const message = `${name}: no longer served; removing the informer`;
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

/** Accepts a 404 without a reason too, as a proxy may send it. */
const isUnknown = (error: unknown): boolean => isStatusError(error) && error.code === 404;
