// defineResource makes a custom resource from its schema: its names, the static type of its objects, and the definition that a server
// needs. resource.ts makes resources of kinds that are defined elsewhere.

import { dnsLabelErrors, dnsSubdomainErrors } from '../formats/qualified-name.ts';
import type { KubernetesObject } from '../objects/kubernetes-object.ts';
import { type Resource, type ResourceSpec, resource } from './resource.ts';

/** A structural OpenAPI v3 schema as in custom resource definitions; the server checks it when it is installed. */
export interface ObjectSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly properties?: Readonly<Record<string, ObjectSchema>>;
  readonly required?: readonly string[];
  readonly items?: ObjectSchema;
  readonly additionalProperties?: ObjectSchema | boolean;
  readonly enum?: readonly unknown[];
  readonly nullable?: boolean;
  /** Formats, limits, defaults, x-kubernetes-… . */
  readonly [keyword: string]: unknown;
}

/**
 * The type of the values that a schema describes. Properties that are not `required` are optional, even those with a
 * default.
 */
export type SchemaType<S> = S extends { readonly nullable: true } ? SchemaValue<S> | null : SchemaValue<S>;

type SchemaValue<S> = S extends { readonly 'x-kubernetes-int-or-string': true }
  ? number | string
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly type: infer N extends keyof PlainTypes }
      ? PlainTypes[N]
      : S extends { readonly items: infer I }
        ? SchemaType<I>[]
        : S extends { readonly properties: infer P }
          ? Properties<P, S extends { readonly required: readonly (infer R)[] } ? R : never>
          : S extends { readonly additionalProperties: infer A extends ObjectSchema }
            ? Record<string, SchemaType<A>>
            : S extends { readonly type: 'object' }
              ? Record<string, unknown>
              : unknown;

interface PlainTypes {
  readonly string: string;
  readonly integer: number;
  readonly number: number;
  readonly boolean: boolean;
}

type Properties<P, R> = { [K in keyof P & R]: SchemaType<P[K]> } & { [K in Exclude<keyof P, R>]?: SchemaType<P[K]> };

/** The objects of a defined resource. Controllers write `status`, so it may be missing. */
export interface DefinedObject<Spec, Status> extends KubernetesObject {
  spec: SchemaType<Spec>;
  status?: SchemaType<Status>;
}

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  /** For example ".spec.replicas". */
  readonly jsonPath: string;
  readonly description?: string;
  readonly format?: string;
  /** 0 = always shown; above 0 only with `-o wide`. */
  readonly priority?: number;
}

export interface ResourceDefinitionSpec<Spec, Status> extends ResourceSpec {
  /** Schema of `spec`, which every object must have. */
  readonly spec: Spec;
  /** Schema of `status`; with it the resource has the status subresource. */
  readonly status?: Status;
  readonly columns?: readonly PrinterColumn[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Annotations of the definition; groups under k8s.io need `api-approved.kubernetes.io`. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A resource that can be installed, because it knows its definition. */
export interface DefinedResource<T extends KubernetesObject = KubernetesObject> extends Resource<T> {
  /** Its apiextensions.k8s.io/v1 CustomResourceDefinition. */
  readonly definition: KubernetesObject & { readonly metadata: { readonly name: string } };
}

/**
 * Makes a custom resource. The schemas give the type of its objects. Throws TypeError for
 * names that no server takes. Source: apiextensions ValidateCustomResourceDefinitionNames, without the server's own words.
 *
 *     const Echo = defineResource({ group: 'demo.dev', version: 'v1', kind: 'Echo',
 *       spec: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } });
 */
export function defineResource<
  const Spec extends ObjectSchema,
  const Status extends ObjectSchema = ObjectSchema,
  const Scope extends Resource['scope'] = 'Namespaced',
>(
  spec: ResourceDefinitionSpec<Spec, Status> & { readonly scope?: Scope | undefined },
): DefinedResource<DefinedObject<Spec, Status>> & { readonly scope: Scope } {
  requireName('group', 'demo.dev', spec.group);
  requireName('version', 'v1', spec.version);
  requireName('kind', 'CronTab', spec.kind);
  const own = resource<DefinedObject<Spec, Status>>(spec);
  requireName('plural', 'crontabs', own.plural);
  return { ...own, scope: own.scope as Scope, definition: definitionOf(own, spec) };
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

function definitionOf(
  resource: Resource,
  spec: ResourceDefinitionSpec<ObjectSchema, ObjectSchema>,
): DefinedResource['definition'] {
  const { group, version, kind, plural, scope } = resource;
  const { status, columns, shortNames, categories, annotations } = spec;
  const properties = { spec: spec.spec, ...(status === undefined ? {} : { status }) };
  const served = {
    name: version,
    served: true,
    storage: true,
    ...(status === undefined ? {} : { subresources: { status: {} } }),
    ...(columns === undefined ? {} : { additionalPrinterColumns: columns }),
    schema: { openAPIV3Schema: { type: 'object', properties, required: ['spec'] } },
  };
  const names = {
    kind,
    plural,
    singular: kind.toLowerCase(),
    listKind: `${kind}List`,
    ...(shortNames === undefined ? {} : { shortNames }),
    ...(categories === undefined ? {} : { categories }),
  };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, ...(annotations === undefined ? {} : { annotations: { ...annotations } }) },
    spec: { group, scope, names, versions: [served] },
  };
  return definition;
}
