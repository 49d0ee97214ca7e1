// ResourceStrategy: what is particular to one kind, called by the generic store at fixed points.
// Source: apiserver registry/rest (RESTCreateStrategy, RESTUpdateStrategy, RESTDeleteStrategy).

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import type { SlicedWork } from '@kapstan/api/internal';
import type { RequestContext } from './request-context.ts';

/**
 * Which of metadata's rules a kind checks in an update: those of what may change, all those of a create ('whole'), both,
 * or none (in creates neither). An error that the generic code told already is told once more in `causes`.
 */
export type MetadataOnUpdate = 'change' | 'whole' | 'both' | 'none';

/**
 * Per-kind policy for creates, updates and deletes. The prepare functions change the object in place (it is a private
 * copy); the validate functions return all errors and change nothing. Metadata rules are the generic store's.
 */
export interface ResourceStrategy<T extends KubernetesObject = UnstructuredObject> {
  /** PUT on a missing name creates it. */
  readonly allowCreateOnUpdate: boolean;
  /** PUT without resourceVersion is taken. */
  readonly allowUnconditionalUpdate: boolean;
  /** Clears what clients may not set (status, …) and fills what only the server knows. */
  prepareForCreate(object: T, context: RequestContext): void;
  /** Throws when the kind takes nothing new at the time. Asked again after a validation that took several turns. */
  requireCreatable?(object: DeepReadonly<T>): void;
  validateCreate(object: DeepReadonly<T>, context: RequestContext): readonly FieldError[];
  prepareForUpdate(next: T, old: DeepReadonly<T>, context: RequestContext): void;
  validateUpdate(next: DeepReadonly<T>, old: DeepReadonly<T>, context: RequestContext): readonly FieldError[];
  /** Does what prepareForCreate does, in slices. A strategy that replaces one of them replaces both. Absent: only the plain one exists. */
  readonly prepareForCreateInSlices?: ((object: T, context: RequestContext) => SlicedWork<void>) | undefined;
  /** What prepareForUpdate does, likewise. */
  readonly prepareForUpdateInSlices?:
    | ((next: T, old: DeepReadonly<T>, context: RequestContext) => SlicedWork<void>)
    | undefined;
  warningsOnCreate?(object: DeepReadonly<T>, context: RequestContext): readonly string[];
  warningsOnUpdate?(next: DeepReadonly<T>, old: DeepReadonly<T>, context: RequestContext): readonly string[];
  /** Brings a valid object into its one stored form. */
  canonicalize?(object: T): void;
  /** Seconds of grace when the kind is deleted gracefully, given those that the caller asked for (undefined = none said); undefined = deleted at once. */
  gracePeriodSeconds?(object: DeepReadonly<T>, asked: number | undefined): number | undefined;
  /** True: a delete does not remove the object (yet), whatever its metadata.finalizers say. Namespaces: spec.finalizers. It then gets a deletionTimestamp but no deletionGracePeriodSeconds. */
  holdsDeletion?(object: DeepReadonly<T>): boolean;
  /** Changes the object, in place, when its deletion begins and `holdsDeletion` keeps it. Namespaces: phase Terminating. */
  prepareForDeletion?(object: T): void;
  /** What happens to dependents when the caller says nothing. Absent = 'Background'. 'Unsupported' = the kind takes no part in garbage collection. */
  readonly defaultGarbageCollection?: 'Background' | 'Orphan' | 'Unsupported';
  /** Warned of when a deletion does not say what happens to dependents. Jobs. */
  readonly deletionWarning?: string;
  /** Time to live of an object, in seconds; undefined = for ever. Events: 3600. */
  ttlSeconds?(object: DeepReadonly<T>, isUpdate: boolean): number | undefined;
  /** Field paths that this endpoint ignores, kept out of the managed fields of its writers: [["status"]]. */
  readonly resetFields?: readonly (readonly string[])[];
  /** What the kind's own update rules look at in metadata, after the generic ones. Default 'change'. */
  readonly updateMetadata?: MetadataOnUpdate;
  /** 'Kubernetes': a finalizer without a domain must be a standard one. 'Qualified': any qualified name. Default: that for custom resources, else 'Kubernetes'. */
  readonly finalizerNames?: 'Kubernetes' | 'Qualified';
  /** "metadata.name" must be a DNS label, subdomain, … Returns messages, empty when valid. Absent = DNS-1123 subdomain. */
  validateName?(name: string, isPrefix: boolean): readonly string[];
}
