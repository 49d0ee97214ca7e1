// The resources of controllers that come with a definition to install. Used by manager.ts and install-controllers.ts.
import type { DefinedResource, Resource } from '@kapstan/api';
import { isDefinedResource } from '@kapstan/api/internal';
import type { Controller } from '../builder/controller-builder.ts';

/** Returns each such resource once that the controllers reconcile, own, watch or index. */
export function definedResources(controllers: readonly Controller[]): readonly DefinedResource[] {
  const kinds = controllers.flatMap(({ resource: kind, sources, indexes }): Resource[] => [
    kind,
    ...sources.flatMap((source) => (source.type === 'trigger' ? [] : [source.resource])),
    ...indexes.map((index) => index.resource),
  ]);
  const byName = new Map(kinds.filter(isDefinedResource).map((kind) => [kind.definition.metadata.name, kind]));
  return [...byName.values()];
}
