// HoistedSpec: a definition's spec in Kubernetes' internal form, in which everything that all versions share is kept
// once, outside of them. Validation uses its field names, and so does the stored v1beta1 form.
import type { DeepReadonly } from '@kapstan/api';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type {
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '@kapstan/kinds/apiextensions.k8s.io/v1';

/** Schema, subresources, columns and selectable fields, either shared by all versions or per version. */
export interface HoistedSpec {
  readonly shared: DeepReadonly<Pick<CustomResourceDefinitionVersion, SharedMember>>;
  readonly versions: DeepReadonly<CustomResourceDefinitionVersion[]>;
}

type SharedMember = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';

const sharedMembers: readonly SharedMember[] = [
  'schema',
  'subresources',
  'additionalPrinterColumns',
  'selectableFields',
];

/**
 * Returns the internal form. Source:
 * Convert_v1_CustomResourceDefinitionSpec_To_apiextensions_CustomResourceDefinitionSpec.
 */
export function hoistSpec(spec: DeepReadonly<CustomResourceDefinitionSpec>): HoistedSpec {
  const versions = spec.versions ?? [];
  const [first, ...rest] = versions;
  if (first === undefined) return { shared: {}, versions };
  const common = sharedMembers.filter((member) => rest.every((version) => jsonEqual(version[member], first[member])));
  const shared: Record<string, unknown> = {};
  for (const member of common) if (first[member] !== undefined) shared[member] = first[member];
  const hoisted = versions.map((version) => {
    const own = { ...version } as Record<string, unknown>;
    for (const member of common) delete own[member];
    return own;
  });
  return { shared, versions: hoisted as unknown as HoistedSpec['versions'] };
}

/** Returns the versions with the shared parts in each, not copied: 64 versions may share a large schema. */
export function lowerVersions({ shared, versions }: HoistedSpec): DeepReadonly<CustomResourceDefinitionVersion[]> {
  return versions.map((version) => ({ ...shared, ...version }));
}
