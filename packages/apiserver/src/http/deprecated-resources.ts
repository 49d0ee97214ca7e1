// Warnings for resources that are on their way out: sent with every answer. Source: the prerelease-lifecycle markers of
// k8s.io/api (1.36) for kinds served in a stable version; custom resources bring their own text.
import type { ResourceDefinition } from '../registry/resource-definition.ts';

/** Of the core group, by resource. */
const deprecatedBuiltins: ReadonlyMap<string, string> = new Map([
  ['endpoints', 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
  ['componentstatuses', 'v1 ComponentStatus is deprecated in v1.19+'],
]);

export function deprecationWarning(definition: ResourceDefinition): string | undefined {
  if (definition.deprecationWarning !== undefined) return definition.deprecationWarning;
  return definition.group === '' ? deprecatedBuiltins.get(definition.resource) : undefined;
}
