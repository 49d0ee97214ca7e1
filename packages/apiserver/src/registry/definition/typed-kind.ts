// TypedKind holds the rules that a kind with Go types adds to its KindFacts. typed-resource.ts makes the definition
// from both.

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { GroupKind, SlicedWork } from '@kapstan/api/internal';
import type { Field } from '../meta/field.ts';
import type { RequestContext } from './request-context.ts';
import type { ResourceAllocation, ResourceDefinition, Subresource } from './resource-definition.ts';
import type { MetadataOnUpdate, PermitWrite, ResourceStrategy } from './strategy.ts';

/** The part of an object that its /status endpoint changes, and the rules for it. */
interface StatusRules<T extends KubernetesObject> {
  /** Called after everything except metadata and status was copied from the old object. */
  prepare?(next: T, old: DeepReadonly<T>): void;
  validate?(at: Field, next: DeepReadonly<T>, old: DeepReadonly<T>): void;
  warnings?(next: DeepReadonly<T>): readonly string[];
  /** True = labels, annotations, finalizers and owners keep their old values, too. */
  readonly keepsMetadata?: boolean;
  /** Default 'change'. */
  readonly updateMetadata?: MetadataOnUpdate;
  /** Checks whether the user may write the changes. Its errors are reported together with those of {@link validate}. */
  readonly permit?: PermitWrite<T> | undefined;
  /** True = the endpoint has no Table. Default false. */
  readonly withoutTable?: boolean;
  /** Fields that the endpoint ignores in addition to the content of the kind and the metadata that it keeps. */
  readonly resetFields?: readonly (readonly string[])[];
}

/**
 * One resource. Only `id` is required: a kind without special rules is complete with its facts (Go form, defaults of
 * the schema, columns, selectable metadata). Objects are passed and returned in Go form.
 */
export interface TypedKind<T extends KubernetesObject = UnstructuredObject> {
  /** For example "apps/v1/deployments", "v1/pods". */
  readonly id: string;
  /** Sets defaults in place, as Go's SetDefaults_* do. */
  setDefaults?(object: T): void;
  /** Does what `setDefaults` does, for an object of any size. */
  setDefaultsInSlices?(object: T): SlicedWork<void>;
  /** Called after status was cleared and generation and finalizers were set. */
  prepareForCreate?(object: T, context: RequestContext): void;
  /** Called after the status was copied from the old object. */
  prepareForUpdate?(next: T, old: DeepReadonly<T>, context: RequestContext): void;
  /** Checks creates and updates. The generic store checks metadata. */
  validate?(at: Field, object: DeepReadonly<T>, old: DeepReadonly<T> | undefined): void;
  /**
   * True = Kubernetes runs {@link validate} twice on an update, so its errors are reported twice. Set for jobs and
   * volumes.
   */
  readonly repeatsValidation?: boolean | undefined;
  /** True = {@link validate} has rules that may take long ({@link Field.later}), which run in slices. Default false. */
  readonly validatesInSlices?: boolean | undefined;
  /** Checks whether the user may write a valid object. */
  readonly permit?: PermitWrite<T> | undefined;
  /** Checks creates only. */
  validateCreate?(at: Field, object: DeepReadonly<T>): void;
  /** Checks fields whose change is restricted, after {@link validate}. */
  validateChange?(at: Field, next: DeepReadonly<T>, old: DeepReadonly<T>): void;
  warnings?(object: DeepReadonly<T>, old: DeepReadonly<T> | undefined): readonly string[];
  /** Returns the values of the selectable fields beyond metadata. */
  fields?(object: DeepReadonly<T>): Readonly<Record<string, string>>;
  /** Fields of {@link fields} that many clients select by, which the cache therefore indexes. */
  readonly indexedFields?: readonly string[] | undefined;
  validateName?(name: string, isPrefix: boolean): readonly string[];
  /** True = a client may set status in a create. Set for nodes. */
  readonly keepsStatusOnCreate?: boolean | undefined;
  /** True = a change of annotations raises the generation too. Set for deployments. */
  readonly annotationsRaiseGeneration?: boolean | undefined;
  /** True = changes raise the generation, though creates do not set it. Set for CSI drivers. */
  readonly raisesGeneration?: boolean | undefined;
  /** True = changes do not raise the generation, though creates set it. Set for priority classes. */
  readonly keepsGeneration?: boolean | undefined;
  /** True = an empty list or map where the old object has none raises the generation. Default false. */
  readonly countsEmpties?: boolean | undefined;
  readonly status?: StatusRules<T> | undefined;
  /** Subresources besides /status. A subresource that the facts have and this list has not answers 501. */
  readonly subresources?: readonly Subresource<T>[] | undefined;
  /** Further parts of the strategy: the stored form, graceful deletion, garbage collection, time to live. */
  readonly strategy?:
    | Pick<
        ResourceStrategy<T>,
        | 'canonicalize'
        | 'updateMetadata'
        | 'gracePeriodSeconds'
        | 'defaultGarbageCollection'
        | 'deletionWarning'
        | 'ttlSeconds'
        | 'holdsDeletion'
        | 'heldIgnoresPropagation'
        | 'prepareForDeletion'
        | 'finalizerNames'
        | 'resetFields'
      >
    | undefined;
  readonly convert?: NonNullable<ResourceDefinition<T>['convert']> | undefined;
  readonly upgrades?: NonNullable<ResourceDefinition<T>['upgrades']> | undefined;
  readonly allocation?: ResourceAllocation<T> | undefined;
  readonly returnsDeletedObject?: boolean | undefined;
  readonly invalidKind?: GroupKind | undefined;
  readonly uncachedByDefault?: boolean | undefined;
  readonly isOwnNamespace?: boolean | undefined;
  readonly hasGroupRoute?: boolean | undefined;
  readonly deprecationWarning?: string | undefined;
  readonly versionAnnotations?: ReadonlySet<string> | undefined;
  /** Returns the cells of a row of a Table. Absent = the printer of the facts makes them. */
  cells?(object: DeepReadonly<T>): readonly unknown[];
}
