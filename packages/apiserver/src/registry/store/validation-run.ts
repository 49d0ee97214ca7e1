// Finds the errors of a written object and the warnings for its writer. Called in the turn of the flow (create-flow.ts,
// update-flow.ts) and, for large objects, in a thread (validation/validation-thread.ts).
import type { DeepReadonly, KubernetesObject, ObjectMeta } from '@kapstan/api';
import { type FieldError, invalidField } from '@kapstan/api/errors';
import { formatApiVersion, type SlicedWork } from '@kapstan/api/internal';
import type { RequestContext } from '../definition/request-context.ts';
import type { ResourceDefinition } from '../definition/resource-definition.ts';
import type { ResourceStrategy } from '../definition/strategy.ts';
import { nameIsPathSegment } from '../meta/names.ts';
import {
  commonErrors,
  finalizerNameErrors,
  type MetadataRules,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '../meta/object-meta-validation.ts';

export interface ValidationCall<T extends KubernetesObject> {
  readonly definition: ResourceDefinition<T>;
  /** The endpoint's strategy. */
  readonly strategy: ResourceStrategy<T>;
  readonly context: RequestContext;
  readonly object: DeepReadonly<T>;
  /** Absent for a create. */
  readonly old?: DeepReadonly<T> | undefined;
  /**
   * False when the stored size shows that the old object is small, so that its values need not be counted. Default
   * true.
   */
  readonly isLarge?: boolean | undefined;
}

export interface Findings {
  readonly errors: readonly FieldError[];
  /** Empty when there are errors. */
  readonly warnings: Iterable<string>;
}

export function findingsOf<T extends KubernetesObject>(call: ValidationCall<T>): Findings {
  const { definition, strategy, context, object, old } = call;
  if (old === undefined) return findings(call, createErrors(call, definition.strategy.validateCreate(object, context)));
  return findings(call, updateErrors(call, old, strategy.validateUpdate(object, old, context)));
}

/** Does what {@link findingsOf} does, in slices; undefined for a strategy without slices. */
export function slicedFindingsOf<T extends KubernetesObject>(
  call: ValidationCall<T>,
): SlicedWork<Findings> | undefined {
  const { definition, strategy, old } = call;
  const rules = old === undefined ? definition.strategy.validateCreateInSlices : strategy.validateUpdateInSlices;
  return rules === undefined ? undefined : findingsInSlices(call);
}

function* findingsInSlices<T extends KubernetesObject>(call: ValidationCall<T>): SlicedWork<Findings> {
  const { definition, strategy, context, object, old } = call;
  if (old === undefined) {
    const checking = definition.strategy.validateCreateInSlices?.(object, context);
    const ofKind = checking === undefined ? [] : yield* checking;
    return findings(call, createErrors(call, ofKind));
  }
  const checking = strategy.validateUpdateInSlices?.(object, old, context);
  const ofKind = checking === undefined ? [] : yield* checking;
  return findings(call, updateErrors(call, old, ofKind));
}

function findings<T extends KubernetesObject>(
  { strategy, context, object, old }: ValidationCall<T>,
  errors: readonly FieldError[],
): Findings {
  if (errors.length > 0) return { errors, warnings: [] };
  const warnings =
    old === undefined
      ? strategy.warningsOnCreate?.(object, context)
      : strategy.warningsOnUpdate?.(object, old, context);
  return { errors, warnings: warnings ?? [] };
}

/** Source: rest.BeforeCreate. */
function createErrors<T extends KubernetesObject>(
  { definition, object }: ValidationCall<T>,
  ofKind: readonly FieldError[],
): readonly FieldError[] {
  const ofType = typeErrors(definition, object);
  if (ofType.length > 0) return ofType;
  // A kind that does not check metadata reports its own errors before the generic checks run.
  if (definition.strategy.updateMetadata === 'none' && ofKind.length > 0) return ofKind;
  return [...validateObjectMeta(object.metadata ?? {}, metadataRules(definition)), ...ofKind];
}

/** Source: rest.BeforeUpdate. */
function updateErrors<T extends KubernetesObject>(
  call: ValidationCall<T>,
  old: DeepReadonly<T>,
  ofKind: readonly FieldError[],
): readonly FieldError[] {
  const ofType = typeErrors(call.definition, call.object);
  const ofMetadata = metadataErrors(call, call.object.metadata ?? {}, old.metadata ?? {});
  return [...ofMetadata, ...(ofType.length > 0 ? ofType : ofKind)];
}

/**
 * A body of another kind is refused while it is decoded, unless it is a custom resource's. Source:
 * customResourceValidator.ValidateTypeMeta.
 */
function typeErrors<T extends KubernetesObject>(
  { isCustom, group, version, kind }: ResourceDefinition<T>,
  object: DeepReadonly<T>,
): readonly FieldError[] {
  if (isCustom !== true) return [];
  const apiVersion = formatApiVersion({ group, version });
  const errors: FieldError[] = [];
  if (object.kind !== kind) errors.push(invalidField('kind', object.kind ?? '', `must be ${kind}`));
  if (object.apiVersion !== apiVersion)
    errors.push(invalidField('apiVersion', object.apiVersion ?? '', `must be ${apiVersion}`));
  return errors;
}

/**
 * Kubernetes checks metadata in its generic code and again in the kind's, so most errors appear two to four times in
 * `causes` (once in the message). Source: rest.validateCommonFields and the kinds' ValidateUpdate.
 */
function metadataErrors<T extends KubernetesObject>(
  { definition, strategy }: ValidationCall<T>,
  next: DeepReadonly<ObjectMeta>,
  old: DeepReadonly<ObjectMeta>,
): readonly FieldError[] {
  const rules = metadataRules(definition);
  const general = { namespaced: rules.namespaced, nameRule: nameIsPathSegment, finalizerNames: 'Qualified' } as const;
  const common = commonErrors(next);
  const change = validateObjectMetaUpdate(next, old, common);
  const { updateMetadata = 'change' } = strategy;
  const ofKind = {
    change: () => [...change, ...finalizerNameErrors(next.finalizers ?? [], rules.finalizerNames)],
    whole: () => validateObjectMeta(next, rules, common),
    none: () => [],
  };
  const repeated = updateMetadata === 'both' ? [...ofKind.whole(), ...ofKind.change()] : ofKind[updateMetadata]();
  return [...validateObjectMeta(next, general, common), ...change, ...repeated];
}

function metadataRules<T extends KubernetesObject>(definition: ResourceDefinition<T>): MetadataRules {
  const { namespaced, strategy, isCustom } = definition;
  const finalizerNames = strategy.finalizerNames ?? (isCustom === true ? 'Qualified' : 'Kubernetes');
  const nameRule = strategy.validateName?.bind(strategy);
  return nameRule === undefined ? { namespaced, finalizerNames } : { namespaced, finalizerNames, nameRule };
}
