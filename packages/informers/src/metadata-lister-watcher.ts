// Objects without all but their metadata: all that who follows owners, labels or names of a kind needs, for a fraction of
// the memory. A view of a ListerWatcher, used by the factory. Source: meta/v1 PartialObjectMetadata, client-go metadatainformer.
import type { DeepReadonly, KubernetesObject, ListerWatcher, ObjectMeta, WatchEvent } from '@kapstan/api';
import { map } from 'rxjs';

/** The metadata of an object of any kind, which its own `kind` does not tell any more. */
export interface PartialObjectMetadata extends KubernetesObject {
  apiVersion: 'meta.k8s.io/v1';
  kind: 'PartialObjectMetadata';
  metadata: ObjectMeta;
}

/** The same lists and watches, with the metadata of each object alone, whatever the source sends. */
export function metadataListerWatcher<T extends KubernetesObject>(
  source: ListerWatcher<T>,
): ListerWatcher<PartialObjectMetadata> {
  const { supportsWatchList } = source;
  const whenReachable = source.whenReachable?.bind(source);
  return {
    ...(supportsWatchList === undefined ? {} : { supportsWatchList }),
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

/** Shares the metadata with the object. One without is left for the reflector to complain about. */
function metadataOf({ metadata }: DeepReadonly<KubernetesObject>): DeepReadonly<PartialObjectMetadata> {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: metadata as ObjectMeta };
}
