// metadataOnly marks a resource of which caches keep only the metadata. The builder takes it like any other; informer-cache.ts reads the mark.
// Source: controller-runtime builder.OnlyMetadata.
import type { NamespacedResource, Resource } from '@kapstan/api';
import { requireResource } from '@kapstan/api/internal';
import type { PartialObjectMetadata } from '@kapstan/informers';

const mark: unique symbol = Symbol('kapstan.metadataOnly');

/**
 * Returns the resource for caches that list, watch and keep only metadata, a fraction of the data of large kinds such as Secrets and
 * ConfigMaps: `owns(metadataOnly(Secret))`, `watches(metadataOnly(Pod), map)`, `index(…)`, and then `ctx.cache(metadataOnly(Secret))`,
 * `ctx.children(…)` and `ctx.prune(…)` of the same. Objects have the kind PartialObjectMetadata and only `metadata`. Writes and reads
 * through a client take the resource itself. A kind may be cached both ways, and has two watches then. Throws TypeError unless given a
 * resource.
 *
 * @example
 * ```ts
 * import { controller, metadataOnly } from '@kapstan/controller';
 * import { ConfigMap, Secret } from '@kapstan/kinds/core/v1';
 *
 * controller(ConfigMap).owns(metadataOnly(Secret)).reconcile(async (map, { apply, children }) => {
 *   await apply(Secret, { metadata: { name: `${map.metadata.name}-copy` }, stringData: { text: map.data?.text ?? '' } });
 *   console.log(children(metadataOnly(Secret)).map(({ metadata }) => metadata.name));
 * });
 * ```
 */
export function metadataOnly(resource: NamespacedResource): NamespacedResource<PartialObjectMetadata>;
export function metadataOnly(resource: Resource): Resource<PartialObjectMetadata>;
export function metadataOnly(resource: Resource): Resource<PartialObjectMetadata> {
  requireResource(resource, 'metadataOnly()');
  const marked = { ...resource, [mark]: true };
  return marked as unknown as Resource<PartialObjectMetadata>;
}

/** True for a result of {@link metadataOnly}. */
export function isMetadataOnly(resource: Resource): boolean {
  return mark in resource;
}
