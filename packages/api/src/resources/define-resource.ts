// defineResource makes a custom resource from its schema: its names, the static type of its objects, and the definition that a server
// needs. resource.ts makes resources of kinds that are defined elsewhere.

import { dnsLabelErrors, dnsSubdomainErrors } from '../formats/qualified-name.ts';
import type { KubernetesObject } from '../objects/kubernetes-object.ts';
import type { OtherVersionSpec, ResourceDefinitionSpec } from './definition-spec.ts';
import type { AnySchema, ObjectSchema, SchemaType } from './object-schema.ts';
import { type Resource, resource } from './resource.ts';
import { resourceDefinition } from './resource-definition.ts';

/** The objects of a defined resource. Controllers write `status`, so it may be missing. */
export interface DefinedObject<Spec, Status> extends KubernetesObject {
  spec: SchemaType<Spec>;
  status?: SchemaType<Status>;
}

/** A resource that can be installed, because it knows its definition. */
export interface DefinedResource<T extends KubernetesObject = KubernetesObject> extends Resource<T> {
  /** Its apiextensions.k8s.io/v1 CustomResourceDefinition. */
  readonly definition: KubernetesObject & { readonly metadata: { readonly name: string } };
  /** Parts of the schemas that the definition cannot express, such as "unknown fields are pruned, not refused". */
  readonly notes?: readonly string[];
}

/** The resources of the other versions, by name. */
type OtherVersions<Versions> = {
  readonly [V in keyof Versions]: Versions[V] extends { readonly spec: infer Spec }
    ? Resource<DefinedObject<Spec, Versions[V] extends { readonly status: infer Status } ? Status : ObjectSchema>>
    : never;
};

/**
 * Makes a custom resource. The schemas give the type of its objects. Throws TypeError for
 * names that no server takes, and for schemas that no definition can hold. Source: apiextensions ValidateCustomResourceDefinitionNames,
 * without the server's own words.
 *
 *     const Echo = defineResource({ group: 'demo.dev', version: 'v1', kind: 'Echo',
 *       spec: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } });
 */
export function defineResource<
  const Spec extends AnySchema,
  const Status extends AnySchema = ObjectSchema,
  const Scope extends Resource['scope'] = 'Namespaced',
  const Versions extends Readonly<Record<string, OtherVersionSpec>> = Record<never, never>,
>(
  spec: ResourceDefinitionSpec<Spec, Status> & {
    readonly scope?: Scope | undefined;
    readonly versions?: Versions | undefined;
  },
): DefinedResource<DefinedObject<Spec, Status>> & {
  readonly scope: Scope;
  readonly versions: OtherVersions<Versions>;
} {
  requireName('group', 'demo.dev', spec.group);
  requireName('version', 'v1', spec.version);
  requireName('kind', 'CronTab', spec.kind);
  const own = resource<DefinedObject<Spec, Status>>(spec);
  requireName('plural', 'crontabs', own.plural);
  const others = Object.keys(spec.versions ?? {});
  for (const version of others) requireName('version', 'v1', version);
  if (others.includes(spec.version)) throw new TypeError(`the version ${spec.version} is given twice`);
  const versions = Object.fromEntries(others.map((version) => [version, { ...own, version }]));
  const { definition, notes } = resourceDefinition(own, spec);
  const made = { ...own, scope: own.scope as Scope, definition, versions: versions as OtherVersions<Versions> };
  return notes.length === 0 ? made : { ...made, notes };
}

/** Throws TypeError for an invalid name. */
function requireName(field: 'group' | 'version' | 'kind' | 'plural', example: string, name: unknown): void {
  if (typeof name === 'string' && isValid(field, name)) return;
  throw new TypeError(`a custom resource needs a ${field} such as "${example}", not ${JSON.stringify(name)}`);
}

function isValid(field: 'group' | 'version' | 'kind' | 'plural', name: string): boolean {
  // Groups without a dot are Kubernetes' own; use `resource()` for kinds in them.
  if (field === 'group') return name.includes('.') && dnsSubdomainErrors(name).length === 0;
  const label = field === 'kind' ? name.toLowerCase() : name;
  // Like IsDNS1035Label, which requires a letter first.
  return /^[a-z]/.test(label) && dnsLabelErrors(label).length === 0;
}

/** True for a resource that can be installed. */
export function isDefinedResource(resource: Resource): resource is DefinedResource {
  return 'definition' in resource;
}
