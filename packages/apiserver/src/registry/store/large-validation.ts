// LargeValidation validates large objects elsewhere, so that other requests are served meanwhile. The port of the
// flows; implemented by validation/large-object-validation.ts.

import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { type CallSignal, knownSize, type ToldErrors } from '@kapstan/api/internal';
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

/** Maximum number of values in an object validated in one turn, which takes 10 ms at most. */
const mostNodes = 10_000;
/**
 * Maximum number of characters in an object with a structural schema validated in one turn: patterns read each of them,
 * some many times.
 */
const mostCharacters = 64 * 1024;

/**
 * Returns the call for an object too large for one turn. Undefined for all others, and for strategies of an embedding
 * program, which a thread cannot make.
 */
export function largeCallOf<T extends KubernetesObject>(
  { definition, strategy, context, object, old, isLarge = true }: ValidationCall<T>,
  subresource: string,
): LargeValidationCall | undefined {
  const { origin } = definition;
  if (origin === undefined || !isOwnStrategy(definition, strategy, subresource)) return undefined;
  const measure = new Measure(definition.schema.goType === undefined);
  if (measure.fits(object) && (old === undefined || !isLarge || measure.fits(old))) return undefined;
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

/** Counts values and characters only up to the limits: most objects have a few hundred values. */
class Measure {
  #nodes = mostNodes;
  #characters = mostCharacters;
  readonly #countsCharacters: boolean;

  constructor(countsCharacters: boolean) {
    this.#countsCharacters = countsCharacters;
  }

  fits(value: unknown): boolean {
    this.#nodes -= 1;
    if (this.#nodes < 0) return false;
    if (typeof value === 'string') {
      if (this.#countsCharacters) this.#characters -= value.length;
      return this.#characters >= 0;
    }
    if (typeof value !== 'object' || value === null) return true;
    // for…in would first make a text of each index.
    if (Array.isArray(value)) return value.length <= this.#nodes && value.every((item) => this.fits(item));
    if (knownSize(value) > this.#nodes) return false;
    for (const key in value) if (!this.fits((value as Record<string, unknown>)[key])) return false;
    return true;
  }
}
