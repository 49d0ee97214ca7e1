// The warning of a deprecated version of a custom resource. Source: apiextensions defaultDeprecationWarning.
import type { DeepReadonly } from '@kapstan/api';
import { compareVersions } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '@kapstan/kinds/apiextensions.k8s.io/v1';

/** Returns the definition's text, or one that names the newest version to use instead. */
export function deprecationWarning(
  { spec }: DeepReadonly<CustomResourceDefinition>,
  version: DeepReadonly<CustomResourceDefinitionVersion>,
): string {
  if (version.deprecationWarning !== undefined && version.deprecationWarning !== null) {
    return version.deprecationWarning;
  }
  const [better] = spec.versions
    .filter(({ name, served, deprecated }) => served && deprecated !== true && compareVersions(name, version.name) < 0)
    .map(({ name }) => name)
    .sort(compareVersions);
  const text = `${spec.group}/${version.name} ${spec.names.kind} is deprecated`;
  return better === undefined ? text : `${text}; use ${spec.group}/${better} ${spec.names.kind}`;
}
