// Deletes all objects of a definition that is being deleted; the definition is removed only after them. Source:
// apiextensions controller/finalizer crd_finalizer.go.
import type { UnstructuredObject } from '@kapstan/api';
import type { RequestContext, ResourceStore } from '@kapstan/apiserver';
import type { StorageWatch } from '@kapstan/storage';

export interface CleanupCall {
  readonly store: ResourceStore<UnstructuredObject>;
  /** Returns the context of one namespace; "" = all namespaces, or none. */
  contextFor(namespace: string): RequestContext;
  readonly signal: AbortSignal;
}

/**
 * Deletes all objects of a kind and waits for their finalizers. Rejects when a deletion is refused, and with the
 * signal's reason.
 */
export async function deleteInstances(call: CleanupCall): Promise<void> {
  const { store, contextFor } = call;
  const { items } = await store.list(contextFor(''), {});
  const namespaces = new Set(items.map(({ object }) => object.metadata?.namespace ?? ''));
  for (const namespace of namespaces) await store.deleteCollection(contextFor(namespace), {}, {});
  for (;;) {
    const rest = await store.list(contextFor(''), {});
    if (rest.items.length === 0) return;
    await nextDeletion(call, rest.resourceVersion);
  }
}

/** Resolves at the next deletion of an object, or when the watch ends for whatever reason. */
function nextDeletion({ store, contextFor, signal }: CleanupCall, resourceVersion: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let watch: StorageWatch | undefined;
    let isOver = false;
    // Events may come before watch() has returned.
    const end = (): void => {
      isOver = true;
      signal.removeEventListener('abort', abort);
      watch?.close();
      resolve();
    };
    const abort = (): void => {
      reject(signal.reason);
      end();
    };
    signal.addEventListener('abort', abort, { once: true });
    watch = store.watch(
      contextFor(''),
      { resourceVersion },
      { onEvent: (event) => event.type === 'DELETED' && end(), onEnd: end },
    );
    if (isOver) watch.close();
  });
}
