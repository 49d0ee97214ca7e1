// LargeValidation validates large objects, and small ones of costly schemas, elsewhere, so that other requests are
// served meanwhile. The port of the flows; implemented by validation/large-object-validation.ts.

import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { CallSignal, ToldErrors } from '@kapstan/api/internal';
import { ValidationMeasure } from '../../schema/validation-measure.ts';
import type { DefinitionOrigin } from '../definition/definition-origin.ts';
import type { ResourceDefinition, StrategySubresource } from '../definition/resource-definition.ts';
import type { ValidationCall } from './validation-run.ts';

export interface LargeValidationCall {
  readonly origin: DefinitionOrigin;
  /** "" = the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly object: DeepReadonly<KubernetesObject>;
  readonly old: DeepReadonly<KubernetesObject> | undefined;
}

/** The findings as texts, because the values in errors are not sent between threads. */
export interface ToldFindings {
  /** Undefined = valid. */
  readonly errors: ToldErrors | undefined;
  readonly warnings: readonly string[];
}

export interface LargeValidation {
  /** Validates an object. Rejects with StatusError when that takes too long, and when the signal aborts. */
  validate(call: LargeValidationCall, signal: CallSignal | undefined): Promise<ToldFindings>;
}

/**
 * Returns the call for an object whose validation takes too long for one turn. Undefined for all others, and for strategies of an embedding
 * program, which a thread cannot make.
 */
export function largeCallOf<T extends KubernetesObject>(
  { definition, strategy, context, object, old, isLarge = true }: ValidationCall<T>,
  subresource: string,
): LargeValidationCall | undefined {
  const { origin } = definition;
  if (origin === undefined || !isOwnStrategy(definition, strategy, subresource)) return undefined;
  const { goType, raw = {} } = definition.schema;
  const measure = new ValidationMeasure();
  const fits = (value: unknown): boolean =>
    goType === undefined ? measure.fits(value, raw) : measure.fitsWithoutSchema(value);
  const isQuick = fits(object) && (old === undefined || !isLarge || fits(old));
  if (isQuick && definition.isSlowToValidate?.(object) !== true) return undefined;
  return { origin, subresource, namespace: context.namespace, object, old };
}

function isOwnStrategy<T extends KubernetesObject>(
  { strategy: main, subresources }: ResourceDefinition<T>,
  strategy: unknown,
  subresource: string,
): boolean {
  if (subresource === '') return strategy === main;
  const isIt = (candidate: unknown): candidate is StrategySubresource<T> =>
    (candidate as StrategySubresource<T>).type === 'strategy' &&
    (candidate as StrategySubresource<T>).name === subresource;
  return subresources.find(isIt)?.strategy === strategy;
}
