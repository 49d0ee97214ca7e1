// TypedKind: what a kind with Go types says for itself about its resource; all else comes from its KindFacts. typed-resource.ts makes
// of both the definition that the server works with.

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { GroupKind } from '@kapstan/api/internal';
import type { Field } from '../meta/field.ts';
import type { RequestContext } from './request-context.ts';
import type { ResourceAllocation, ResourceDefinition, Subresource } from './resource-definition.ts';
import type { MetadataOnUpdate, ResourceStrategy } from './strategy.ts';

/** The part of a kind that its /status endpoint changes, and the rules for it. */
interface StatusRules<T extends KubernetesObject> {
  /** After everything but metadata and status was taken over from the old object. */
  prepare?(next: T, old: DeepReadonly<T>): void;
  validate?(at: Field, next: DeepReadonly<T>, old: DeepReadonly<T>): void;
  warnings?(next: DeepReadonly<T>): readonly string[];
  /** True: labels, annotations, finalizers and owners stay as they were, too. */
  readonly keepsMetadata?: boolean;
  /** Default 'change'. */
  readonly updateMetadata?: MetadataOnUpdate;
  /** The endpoint shows no Table. Default false. */
  readonly withoutTable?: boolean;
  /** Fields beside the kind's content, and the metadata that it keeps, that the endpoint ignores. */
  readonly resetFields?: readonly (readonly string[])[];
}

/**
 * One resource. Every member but `id` is optional: a kind without anything special is its facts (Go form, schema defaults,
 * columns, selectable metadata). Objects come in their Go form and leave in it.
 */
export interface TypedKind<T extends KubernetesObject = UnstructuredObject> {
  /** "apps/v1/deployments", "v1/pods". */
  readonly id: string;
  /** Go's SetDefaults_*, in place. */
  setDefaults?(object: T): void;
  /** After status was cleared and generation and finalizers were set. */
  prepareForCreate?(object: T, context: RequestContext): void;
  /** After status was taken over from the old object. */
  prepareForUpdate?(next: T, old: DeepReadonly<T>, context: RequestContext): void;
  /** Rules for creates and updates alike. Metadata is the generic store's. */
  validate?(at: Field, object: DeepReadonly<T>, old: DeepReadonly<T> | undefined): void;
  /** True: Kubernetes runs {@link validate} twice on an update, so that its errors are told twice. Jobs, volumes. */
  readonly repeatsValidation?: boolean;
  /** Rules for creates alone. */
  validateCreate?(at: Field, object: DeepReadonly<T>): void;
  /** Rules for what may change, after {@link validate}. */
  validateChange?(at: Field, next: DeepReadonly<T>, old: DeepReadonly<T>): void;
  warnings?(object: DeepReadonly<T>, old: DeepReadonly<T> | undefined): readonly string[];
  /** Values of the selectable fields beyond metadata. */
  fields?(object: DeepReadonly<T>): Readonly<Record<string, string>>;
  /** Fields of {@link fields} by which many select: a cache finds objects and watchers by their values. */
  readonly indexedFields?: readonly string[];
  validateName?(name: string, isPrefix: boolean): readonly string[];
  /** A client may set status in a create. Nodes. */
  readonly keepsStatusOnCreate?: boolean;
  /** A change of annotations raises the generation too. Deployments. */
  readonly annotationsRaiseGeneration?: boolean;
  /** Changes raise the generation, though no create sets it. CSI drivers. */
  readonly raisesGeneration?: boolean;
  /** No change raises the generation, though creates set it. Priority classes. */
  readonly keepsGeneration?: boolean;
  readonly status?: StatusRules<T>;
  /** Subresources beside /status, by name; those of the facts that are not here are refused with 501. */
  readonly subresources?: readonly Subresource<T>[];
  /** More of the strategy: the stored form, graceful deletion, garbage collection, time to live. */
  readonly strategy?: Pick<
    ResourceStrategy<T>,
    | 'canonicalize'
    | 'updateMetadata'
    | 'gracePeriodSeconds'
    | 'defaultGarbageCollection'
    | 'deletionWarning'
    | 'ttlSeconds'
    | 'holdsDeletion'
    | 'prepareForDeletion'
    | 'finalizerNames'
    | 'resetFields'
  >;
  readonly convert?: NonNullable<ResourceDefinition<T>['convert']>;
  readonly upgrades?: NonNullable<ResourceDefinition<T>['upgrades']>;
  readonly allocation?: ResourceAllocation<T>;
  readonly returnsDeletedObject?: boolean;
  readonly invalidKind?: GroupKind;
  readonly uncachedByDefault?: boolean;
  readonly isOwnNamespace?: boolean;
  readonly hasGroupRoute?: boolean;
  readonly deprecationWarning?: string;
}
