// Copies the wanted resources of a catalog into another one and follows its changes. It connects the resources that the
// server itself uses with those that it serves to clients: --runtime-config removes some only from the latter.
import { ResourceCatalog, type ServedResource } from './catalog.ts';
import type { ResourceDefinition } from './resource-definition.ts';

/** Returns the mirror, which lives as long as `source`. */
export function mirrorCatalog(
  source: ResourceCatalog,
  isWanted: (definition: ResourceDefinition) => boolean,
): ResourceCatalog {
  const mirror = new ResourceCatalog();
  const follow = (): void => {
    const present = new Map(mirror.all().map((served) => [keyOf(served), served]));
    for (const served of source.all()) {
      if (!isWanted(served.definition)) continue;
      const key = keyOf(served);
      if (present.get(key) !== served) mirror.install(served);
      present.delete(key);
    }
    for (const { definition } of present.values()) {
      mirror.remove(definition.group, definition.version, definition.resource);
    }
  };
  follow();
  source.onChange(follow);
  return mirror;
}

function keyOf({ definition: { group, version, resource } }: ServedResource): string {
  return `${group}/${version}/${resource}`;
}
