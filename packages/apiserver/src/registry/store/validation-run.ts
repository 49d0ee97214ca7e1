// What is wrong with an object that is written, and what its writer is warned of: one function, called in the turn of the flow
// (create-flow.ts, update-flow.ts), and for large objects in a thread (validation/validation-thread.ts).
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
  /** That of the endpoint. */
  readonly strategy: ResourceStrategy<T>;
  readonly context: RequestContext;
  readonly object: DeepReadonly<T>;
  /** Absent for a create. */
  readonly old?: DeepReadonly<T>;
  /** False when the old object is known to be small as it is stored: its values need not be counted. Default true. */
  readonly isLarge?: boolean;
}

export interface Findings {
  readonly errors: readonly FieldError[];
  /** None where there are errors. */
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
  // A kind that looks at no metadata is through with its rules before the generic ones come.
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
 * Kubernetes checks metadata in its generic code and again in the kind's, so that most errors are told two to four
 * times in `causes` (once in the message). Source: rest.validateCommonFields and the kinds' ValidateUpdate.
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
