// Builds the CustomResourceDefinition of a resource that a program defines. Used by define-resource.ts.
import type { KubernetesObject } from '../objects/kubernetes-object.ts';
import type { DefinedVersionSpec, OtherVersionSpec, ResourceDefinitionSpec } from './definition-spec.ts';
import type { Resource } from './resource.ts';
import { structuralSchema } from './structural-schema.ts';

type VersionSpec = DefinedVersionSpec<unknown, unknown>;
type Definition = KubernetesObject & { readonly metadata: { readonly name: string } };

interface ResourceDefinition {
  readonly definition: Definition;
  /** Parts of the schemas that the definition cannot express. */
  readonly notes: readonly string[];
}

/** Throws TypeError for a schema that no definition can hold. */
export function resourceDefinition(
  { group, version, kind, plural, scope }: Resource,
  spec: ResourceDefinitionSpec<unknown, unknown>,
): ResourceDefinition {
  const { shortNames, categories, annotations, conversion, versions = {} } = spec;
  const notes: string[] = [];
  const stored = { name: version, served: true, storage: true, ...versionParts(spec, version, notes) };
  const others = Object.entries(versions).map(([name, other]) => ({
    name,
    served: other.served ?? true,
    storage: false,
    ...deprecation(other),
    ...versionParts(other, name, notes),
  }));
  const names = given({ kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List`, shortNames, categories });
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, ...given({ annotations: annotations && { ...annotations } }) },
    spec: given({ group, scope, names, conversion, versions: [stored, ...others] }),
  };
  return { definition, notes };
}

function deprecation({ deprecated = false }: OtherVersionSpec): object {
  if (deprecated === false) return {};
  return given({ deprecated: true, deprecationWarning: deprecated === true ? undefined : deprecated });
}

function versionParts(version: VersionSpec, name: string, notes: string[]): object {
  const { spec, status, columns, scale, rules, selectableFields } = version;
  const schemaOf = (schema: unknown, field: string): unknown => {
    const structural = structuralSchema(schema, `.${field}`);
    notes.push(...structural.notes.map((note) => `${name} ${note}`));
    return structural.schema;
  };
  const properties = given({
    spec: schemaOf(spec, 'spec'),
    status: status === undefined ? undefined : schemaOf(status, 'status'),
  });
  const schema = given({ type: 'object', properties, required: ['spec'], 'x-kubernetes-validations': rules });
  const subresources = given({ status: status === undefined ? undefined : {}, scale });
  return given({
    subresources: Object.keys(subresources).length === 0 ? undefined : subresources,
    additionalPrinterColumns: columns,
    selectableFields: selectableFields?.map((jsonPath) => ({ jsonPath })),
    schema: { openAPIV3Schema: schema },
  });
}

/** Returns the members that are not undefined. */
function given(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
