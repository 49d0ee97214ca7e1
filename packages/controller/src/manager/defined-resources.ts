// The resources of a manager's controllers whose definitions it can install. Used by manager.ts.
import type { DefinedResource, Resource } from '@kapstan/api';
import { isDefinedResource } from '@kapstan/api/internal';
import type { Controller } from '../builder/controller-builder.ts';

/** Returns each resource that the controllers reconcile, own, watch or index once. */
export function definedResources(controllers: readonly Controller[]): readonly DefinedResource[] {
  const kinds = controllers.flatMap(({ resource: kind, sources, indexes }): Resource[] => [
    kind,
    ...sources.flatMap((source) => (source.type === 'trigger' ? [] : [source.resource])),
    ...indexes.map((index) => index.resource),
  ]);
  const byName = new Map(kinds.filter(isDefinedResource).map((kind) => [kind.definition.metadata.name, kind]));
  return [...byName.values()];
}
