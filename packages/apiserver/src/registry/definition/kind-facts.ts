// KindFacts: the facts of a kind with Go types, as data. The package that has the kind passes them to
// typed-resource.ts.
import type { GroupVersionKind } from '@kapstan/api/internal';
import type { ApiTypes } from '../../schema/node/schema-node.ts';
import type { ServerCapabilities } from '../meta/field.ts';
import type { ResourceDefinition, Verb } from './resource-definition.ts';

/** How the server treats writes of one resource. */
export interface ResourceBehaviour {
  /** True when a PUT on a missing name creates the object. */
  readonly createOnUpdate: boolean;
  /** True when a PUT without resourceVersion is accepted. */
  readonly updateWithoutVersion: boolean;
  /** True when the server maintains metadata.generation. */
  readonly generation: boolean;
  /** True when a change of labels raises the generation too. */
  readonly labelsRaiseGeneration?: boolean;
  /** Finalizers that every new object gets. */
  readonly finalizers?: readonly string[];
}

/** The facts of a kind that its strategy needs. */
export interface KindFacts {
  readonly types: ApiTypes;
  /** Name of the definition in the types, for example "apps.v1.Deployment". */
  readonly definition: string;
  readonly hasStatus: boolean;
  readonly behaviour: ResourceBehaviour;
  /** Absent = the defaults of a server. */
  readonly capabilities?: ServerCapabilities | undefined;
}

/** The facts of a resource. */
export interface ResourceFacts extends KindFacts {
  /** Members that its definition takes over unchanged. */
  readonly resource: Pick<
    ResourceDefinition,
    | 'group'
    | 'version'
    | 'resource'
    | 'singular'
    | 'kind'
    | 'listKind'
    | 'namespaced'
    | 'shortNames'
    | 'categories'
    | 'verbs'
    | 'storageVersionHash'
    | 'storagePrefix'
    | 'storageVersion'
    | 'storedAs'
    | 'discoveryPlace'
    | 'selectableFields'
    | 'unsupportedFieldMessage'
    | 'table'
    | 'origin'
  >;
  /** Subresources known to clients. A subresource that the kind does not serve answers 501. */
  readonly subresources: readonly SubresourceFacts[];
}

export interface SubresourceFacts {
  readonly name: string;
  readonly kind: GroupVersionKind;
  readonly verbs: readonly Verb[];
}
