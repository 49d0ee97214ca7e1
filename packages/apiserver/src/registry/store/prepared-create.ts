// createPrepared stores an object of the server's own that went through a create before, when it was prepared. Called by
// generic-store.ts.
import { type DeepReadonly, deepCopy, formatTime, type KubernetesObject } from '@kapstan/api';
import type { Stored } from '@kapstan/storage';
import { fillSystemMetadata, metaOf } from '../meta/object-meta.ts';
import { objectKeyOf } from './key-functions.ts';
import { type StoreParts, storageStatus } from './store-parts.ts';

/** Rejects with StatusError, 409 when there is an object of this name. */
export async function createPrepared<T extends KubernetesObject>(
  parts: StoreParts<T>,
  prepared: DeepReadonly<T>,
): Promise<Stored<T>> {
  const object = deepCopy(prepared) as T;
  const nowMs = parts.clock.now();
  const meta = metaOf(object);
  fillSystemMetadata(meta, { uid: parts.newUid(), nowMs });
  fillTimes(object, formatTime(nowMs));
  const { name = '', namespace = '' } = meta;
  try {
    return await parts.storage.create(objectKeyOf(parts.keys, namespace, name), object);
  } catch (error) {
    throw storageStatus(parts, error, { verb: 'create', name });
  }
}

function fillTimes(object: KubernetesObject, time: string): void {
  for (const entry of object.metadata?.managedFields ?? []) entry.time = time;
  const { status } = object as { readonly status?: { readonly conditions?: { lastTransitionTime?: string }[] } };
  for (const condition of status?.conditions ?? []) condition.lastTransitionTime = time;
}
