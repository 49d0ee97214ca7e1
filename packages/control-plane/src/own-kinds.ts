// OwnKinds checks the kinds that a program adds: their names must be well formed, as a definition's are, and free. Called by
// builtin-definitions.ts.
import { formatGroupResource } from '@kapstan/api/internal';
import { definitionErrors } from '@kapstan/apiextensions';
import type { ResourceDefinition } from '@kapstan/apiserver';

/** The names under which a resource is served. */
export type ServedNames = Pick<
  ResourceDefinition,
  'group' | 'resource' | 'singular' | 'shortNames' | 'kind' | 'listKind'
>;

/** Throws TypeError for a kind that schemaResource did not make, and for one whose names are malformed or those of another resource. */
export function requireOwnKinds(kinds: readonly ResourceDefinition[], served: readonly ServedNames[]): void {
  const strange = kinds.findIndex((kind: ResourceDefinition | undefined) => kind?.isCustom !== true);
  if (strange >= 0) throw new TypeError(`item ${strange} is not made by schemaResource`);
  kinds.forEach((kind, index) => {
    requireFreeNames(kind, [...served, ...kinds.slice(0, index)]);
    requireValidNames(kind);
  });
}

/** Source: the naming controller of kube-apiserver, which has the same rule for definitions. */
function requireFreeNames(kind: ServedNames, others: readonly ServedNames[]): void {
  const name = JSON.stringify(formatGroupResource(kind));
  const group = others.filter((other) => other.group === kind.group);
  if (group.some(({ resource }) => resource === kind.resource))
    throw new TypeError(`${name} is served already; a kind of the program has one version`);
  for (const other of group) {
    const shared = sharedName(kind, other);
    if (shared !== undefined)
      throw new TypeError(`${name}: the name "${shared}" is in use by "${formatGroupResource(other)}"`);
  }
}

function sharedName(kind: ServedNames, other: ServedNames): string | undefined {
  const kinds = [other.kind, other.listKind];
  const resources = resourceNames(other);
  return (
    [kind.kind, kind.listKind].find((name) => kinds.includes(name)) ??
    resourceNames(kind).find((name) => resources.includes(name))
  );
}

/** A built-in resource may have no singular name. */
function resourceNames({ resource, singular, shortNames }: ServedNames): readonly string[] {
  return [resource, singular, ...shortNames].filter((name) => name !== '');
}

/** Checks the names by the rules for the names of a definition. */
function requireValidNames(kind: ResourceDefinition): void {
  const { group, version, resource, singular, listKind, shortNames, categories } = kind;
  const errors = definitionErrors({
    metadata: {
      name: `${resource}.${group}`,
      // A definition in a group of Kubernetes is accepted only with this annotation.
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a kind of the program' },
    },
    spec: {
      group,
      scope: kind.namespaced ? 'Namespaced' : 'Cluster',
      names: { plural: resource, singular, kind: kind.kind, listKind, shortNames, categories },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  } as Parameters<typeof definitionErrors>[0]).filter((text) => text.startsWith('spec.'));
  if (errors.length > 0) throw new TypeError(`"${formatGroupResource(kind)}": ${errors.join('; ')}`);
}
