// Copies the wanted resources of a catalog into another one and follows its changes. It connects the resources that the
// server itself uses with those that it serves to clients: --runtime-config removes some only from the latter.
import { ResourceCatalog } from './catalog.ts';
import type { ResourceDefinition } from './resource-definition.ts';

/** Returns the mirror, which lives as long as `source`. */
export function mirrorCatalog(
  source: ResourceCatalog,
  isWanted: (definition: ResourceDefinition) => boolean,
): ResourceCatalog {
  const mirror = new ResourceCatalog();
  for (const served of source.all()) if (isWanted(served.definition)) mirror.install(served);
  source.onChange((next, before) => {
    if (next !== undefined && isWanted(next.definition)) return mirror.install(next);
    if (before !== undefined)
      mirror.remove(before.definition.group, before.definition.version, before.definition.resource);
  });
  return mirror;
}
