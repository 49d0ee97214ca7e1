// KindFacts: what is known of a kind with Go types as data. Handed to typed-resource.ts by whoever brings the kind.
import type { GroupVersionKind } from '@kapstan/api/internal';
import type { ApiTypes } from '../../schema/schema-node.ts';
import type { ValidationPolicy } from '../meta/field.ts';
import type { ResourceDefinition, Verb } from './resource-definition.ts';

/** How the server treats one resource's writes. */
export interface ResourceBehaviour {
  /** PUT on a missing name creates. */
  readonly createOnUpdate: boolean;
  /** PUT without resourceVersion is taken. */
  readonly updateWithoutVersion: boolean;
  /** The server keeps metadata.generation. */
  readonly generation: boolean;
  /** A change of labels raises the generation too. */
  readonly labelsRaiseGeneration?: boolean;
  /** Finalizers set on create. */
  readonly finalizers?: readonly string[];
}

/** What is known of the kind behind a strategy. */
export interface KindFacts {
  readonly types: ApiTypes;
  /** Definition in the types: "apps.v1.Deployment". */
  readonly definition: string;
  readonly hasStatus: boolean;
  readonly behaviour: ResourceBehaviour;
  /** Absent = what servers allow by default. */
  readonly policy?: ValidationPolicy;
}

/** What is known of a resource. */
export interface ResourceFacts extends KindFacts {
  /** What its definition takes over as it is. */
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
  /** Those that clients know of; what the kind does not serve is refused with 501. */
  readonly subresources: readonly SubresourceFacts[];
}

export interface SubresourceFacts {
  readonly name: string;
  readonly kind: GroupVersionKind;
  readonly verbs: readonly Verb[];
}
