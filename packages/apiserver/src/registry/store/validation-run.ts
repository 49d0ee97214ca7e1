// Finds the errors of a written object and the warnings for its writer. Called in the turn of the flow (create-flow.ts,
// update-flow.ts) and, for large objects, in a thread (validation/validation-thread.ts).
import type { DeepReadonly, KubernetesObject, ObjectMeta } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
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
  readonly old?: DeepReadonly<T>;
  /**
   * False when the stored size shows that the old object is small, so that its values need not be counted. Default
   * true.
   */
  readonly isLarge?: boolean;
}

export interface Findings {
  readonly errors: readonly FieldError[];
  /** Empty when there are errors. */
  readonly warnings: Iterable<string>;
}

export function findingsOf<T extends KubernetesObject>(call: ValidationCall<T>): Findings {
  const { strategy, context, object, old } = call;
  const errors = old === undefined ? createErrors(call) : updateErrors(call, old);
  if (errors.length > 0) return { errors, warnings: [] };
  const warnings =
    old === undefined
      ? strategy.warningsOnCreate?.(object, context)
      : strategy.warningsOnUpdate?.(object, old, context);
  return { errors, warnings: warnings ?? [] };
}

/** Source: rest.BeforeCreate. */
function createErrors<T extends KubernetesObject>(call: ValidationCall<T>): readonly FieldError[] {
  const { definition, context, object } = call;
  const ofKind = definition.strategy.validateCreate(object, context);
  // A kind that does not check metadata reports its own errors before the generic checks run.
  if (definition.strategy.updateMetadata === 'none' && ofKind.length > 0) return ofKind;
  return [...validateObjectMeta(object.metadata ?? {}, metadataRules(definition)), ...ofKind];
}

/** Source: rest.BeforeUpdate. */
function updateErrors<T extends KubernetesObject>(
  call: ValidationCall<T>,
  old: DeepReadonly<T>,
): readonly FieldError[] {
  const { strategy, context, object } = call;
  return [
    ...metadataErrors(call, object.metadata ?? {}, old.metadata ?? {}),
    ...strategy.validateUpdate(object, old, context),
  ];
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
