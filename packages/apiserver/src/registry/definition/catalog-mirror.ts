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
    const changed = next ?? before;
    if (changed === undefined) return;
    const { group, version, resource } = changed.definition;
    // A listener that was called before may have changed the source again, so the latest of two notifications may come first.
    const served = source.find(group, version, resource);
    if (served === undefined || !isWanted(served.definition)) mirror.remove(group, version, resource);
    else if (mirror.find(group, version, resource) !== served) mirror.install(served);
  });
  return mirror;
}
