// Reduces objects to their metadata, which is all that consumers of owners, labels or names need, for a fraction of the
// memory. A view of a ListerWatcher, used by the factory. Source: meta/v1 PartialObjectMetadata, client-go metadatainformer.
import type { DeepReadonly, KubernetesObject, ListerWatcher, ObjectMeta, WatchEvent } from '@kapstan/api';
import { map } from 'rxjs/internal/operators/map';

/** The metadata of an object of any kind; its own `kind` no longer tells the kind. */
export interface PartialObjectMetadata extends KubernetesObject {
  apiVersion: 'meta.k8s.io/v1';
  kind: 'PartialObjectMetadata';
  metadata: ObjectMeta;
}

/** Returns the same lists and watches, but with only the metadata of each object, whatever the source sends. */
export function metadataListerWatcher<T extends KubernetesObject>(
  source: ListerWatcher<T>,
): ListerWatcher<PartialObjectMetadata> {
  const { supportsWatchList } = source;
  const whenReachable = source.whenReachable?.bind(source);
  return {
    supportsWatchList,
    ...(whenReachable === undefined ? {} : { whenReachable }),
    list: async (options) => {
      const page = await source.list(options);
      return { ...page, items: page.items.map(metadataOf) };
    },
    watch: (options) =>
      source
        .watch(options)
        .pipe(
          map(
            (event): WatchEvent<PartialObjectMetadata> =>
              event.type === 'BOOKMARK' ? event : { type: event.type, object: metadataOf(event.object) },
          ),
        ),
  };
}

/** Shares the metadata with the object. An object without metadata is left for the reflector to report. */
function metadataOf({ metadata }: DeepReadonly<KubernetesObject>): DeepReadonly<PartialObjectMetadata> {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: metadata as ObjectMeta };
}
