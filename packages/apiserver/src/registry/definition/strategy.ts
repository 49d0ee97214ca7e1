// ResourceStrategy holds the rules of one kind, which the generic store calls at fixed points. Source: apiserver
// registry/rest (RESTCreateStrategy, RESTUpdateStrategy, RESTDeleteStrategy).

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import type { SlicedWork } from '@kapstan/api/internal';
import type { RequestContext } from './request-context.ts';

/**
 * Metadata rules that a kind checks again in an update: the rules for changes, all rules of a create ('whole'), both,
 * or none; with none, creates do not check them again either. Errors that the generic code reports too appear twice in
 * `causes`.
 */
export type MetadataOnUpdate = 'change' | 'whole' | 'both' | 'none';

/**
 * Rules of one kind for creates, updates and deletes. The prepare functions change the object, a private copy, in
 * place. The validate functions return all errors and change nothing; warnings that are sent even with errors go to
 * `context.warn`. The generic store checks metadata.
 */
export interface ResourceStrategy<T extends KubernetesObject = UnstructuredObject> {
  /** True = a PUT on a missing name creates it. */
  readonly allowCreateOnUpdate: boolean;
  /** True = a PUT without resourceVersion is accepted. */
  readonly allowUnconditionalUpdate: boolean;
  /** Clears fields that clients may not set (status, …) and fills in those that only the server knows. */
  prepareForCreate(object: T, context: RequestContext): void;
  /**
   * Throws when the kind accepts no new objects at present. Called again after a validation that took several turns.
   */
  requireCreatable?(object: DeepReadonly<T>): void;
  validateCreate(object: DeepReadonly<T>, context: RequestContext): readonly FieldError[];
  prepareForUpdate(next: T, old: DeepReadonly<T>, context: RequestContext): void;
  validateUpdate(next: DeepReadonly<T>, old: DeepReadonly<T>, context: RequestContext): readonly FieldError[];
  /**
   * Does what prepareForCreate does, in slices. A strategy that replaces one of them must replace both. Absent = only
   * the plain one exists.
   */
  readonly prepareForCreateInSlices?: ((object: T, context: RequestContext) => SlicedWork<void>) | undefined;
  /** Does what prepareForUpdate does, in the same way. */
  readonly prepareForUpdateInSlices?:
    | ((next: T, old: DeepReadonly<T>, context: RequestContext) => SlicedWork<void>)
    | undefined;
  /** Does what validateCreate does, in slices, because rules that users write may take seconds for a small object. */
  readonly validateCreateInSlices?:
    | ((object: DeepReadonly<T>, context: RequestContext) => SlicedWork<readonly FieldError[]>)
    | undefined;
  /** Does what validateUpdate does, in slices. */
  readonly validateUpdateInSlices?:
    | ((next: DeepReadonly<T>, old: DeepReadonly<T>, context: RequestContext) => SlicedWork<readonly FieldError[]>)
    | undefined;
  /**
   * Returns the errors of rules that the thread for large objects does not know, because they are functions of the program. Called in the
   * turn of the request for objects that the thread found valid; validateCreate and validateUpdate apply the same rules. Absent = none.
   */
  readonly rulesOfProgram?:
    | ((object: DeepReadonly<T>, old: DeepReadonly<T> | undefined) => readonly FieldError[])
    | undefined;
  /**
   * Checks whether the user of the request may write an object that is valid. `old` is absent when the object is
   * created. Resolves to the error if not. Absent = every user may.
   */
  readonly permit?: PermitWrite<T> | undefined;
  /** Like `permit`, but its errors are reported before those of an invalid object, and together with them. */
  readonly permitAlways?: PermitWrite<T> | undefined;
  warningsOnCreate?(object: DeepReadonly<T>, context: RequestContext): readonly string[];
  warningsOnUpdate?(next: DeepReadonly<T>, old: DeepReadonly<T>, context: RequestContext): readonly string[];
  /** Brings a valid object into its single stored form. */
  canonicalize?(object: T): void;
  /** Does what canonicalize does, in slices. Absent = in one turn. */
  canonicalizeInSlices?(object: T): SlicedWork<void>;
  /**
   * Returns the grace period of a deletion in seconds; undefined = deleted at once. The argument is the requested
   * period; undefined = none requested.
   */
  gracePeriodSeconds?(object: DeepReadonly<T>, asked: number | undefined): number | undefined;
  /**
   * True = a delete does not remove the object yet, even if metadata.finalizers is empty. It gets a deletionTimestamp
   * but no deletionGracePeriodSeconds. Namespaces set it, because they have spec.finalizers.
   */
  holdsDeletion?(object: DeepReadonly<T>): boolean;
  /**
   * Changes the object in place when its deletion begins and `holdsDeletion` keeps it. Namespaces: phase Terminating.
   */
  prepareForDeletion?(object: T): void;
  /**
   * True = the deletion of an object that is held adds no finalizer of the garbage collector, whatever the request
   * says. Default false.
   */
  readonly heldIgnoresPropagation?: boolean | undefined;
  /**
   * Default propagation policy for dependents. Absent = 'Background'. 'Unsupported' = the kind has no garbage
   * collection.
   */
  readonly defaultGarbageCollection?: 'Background' | 'Orphan' | 'Unsupported' | undefined;
  /** Warning for a deletion that does not say what happens to dependents. Only jobs have one. */
  readonly deletionWarning?: string | undefined;
  /** Returns the time to live in seconds; undefined = forever. Events: 3600. */
  ttlSeconds?(object: DeepReadonly<T>, isUpdate: boolean): number | undefined;
  /**
   * Field paths that this endpoint ignores, so that its writers do not become their owners, for example [["status"]].
   */
  readonly resetFields?: readonly (readonly string[])[] | undefined;
  /** Rules for metadata that the kind's own update checks apply after the generic ones. Default 'change'. */
  readonly updateMetadata?: MetadataOnUpdate | undefined;
  /**
   * 'Kubernetes': a finalizer without a domain must be a standard one. 'Qualified': any qualified name. Default
   * 'Qualified' for custom resources, otherwise 'Kubernetes'.
   */
  readonly finalizerNames?: 'Kubernetes' | 'Qualified' | undefined;
  /** Returns the faults of a name, none when it is valid. Absent = the name must be a DNS-1123 subdomain. */
  validateName?(name: string, isPrefix: boolean): readonly string[];
}

export type PermitWrite<T extends KubernetesObject> = (
  object: DeepReadonly<T>,
  old: DeepReadonly<T> | undefined,
  context: RequestContext,
) => Promise<readonly FieldError[]>;
