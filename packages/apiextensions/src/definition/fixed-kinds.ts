// FixedKinds are served resources that no CustomResourceDefinition may replace, in any version: kinds of the program. Read by the
// definition controller and by ServedDefinition.
import type { GroupResource, UnstructuredObject } from '@kapstan/api';
import type { ResourceCatalog, ResourceDefinition } from '@kapstan/apiserver';

export interface FixedKindsOptions {
  readonly catalog: ResourceCatalog;
  /** Returns true for resources, besides built-in ones, that no definition may replace. Absent: there are none. */
  isFixed?(definition: ResourceDefinition<UnstructuredObject>): boolean;
}

type Kind = ResourceDefinition<UnstructuredObject>;

/** Returns the fixed kinds of a group. */
export function fixedKinds({ catalog, isFixed }: FixedKindsOptions, group: string): readonly Kind[] {
  if (isFixed === undefined) return [];
  const served = catalog.all().map(({ definition }) => definition);
  return served.filter((definition) => definition.group === group && isFixed(definition));
}

/** Returns true when the objects under this name are a fixed kind's, whatever their version. */
export function isFixedResource(options: FixedKindsOptions, { group, resource }: GroupResource): boolean {
  return fixedKinds(options, group).some((kind) => kind.resource === resource);
}
