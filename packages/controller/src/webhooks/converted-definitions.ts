// convertedDefinitions: the definitions of a program's resources with all versions that its controllers convert. Used by manager-hooks.ts,
// which installs them, and by tools that write them to files, so that both have the same.
import type { DefinedResource } from '@kapstan/api';
import { isDefinedResource } from '@kapstan/api/internal';
import type { Controller } from '../builder/controller-builder.ts';
import { definitionWithVersions } from './webhook-objects.ts';

/** Returns the resources; those with conversions have the hub's definition with all versions, and the conversion. */
export function convertedDefinitions(
  controllers: readonly Pick<Controller, 'resource' | 'hooks'>[],
  resources: readonly DefinedResource[],
  conversion: object | undefined,
): readonly DefinedResource[] {
  const converted = new Map(
    controllers.flatMap(({ resource, hooks }) =>
      hooks.conversions.size > 0 && isDefinedResource(resource)
        ? [[resource.definition.metadata.name, { resource, conversions: [...hooks.conversions.values()] }] as const]
        : [],
    ),
  );
  return resources.map((resource) => {
    const own = converted.get(resource.definition.metadata.name);
    if (own === undefined) return resource;
    const others = own.conversions.flatMap(({ resource: other }) =>
      other !== undefined && isDefinedResource(other) ? [other] : [],
    );
    return definitionWithVersions(own.resource, others, conversion);
  });
}
