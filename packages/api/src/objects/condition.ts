// Status conditions: finds one by its type, and sets one as Kubernetes' own controllers do. A pure function from list
// to list. Source: apimachinery api/meta FindStatusCondition and SetStatusCondition.
import { type Clock, formatTime, systemClock } from '../time/clock.ts';
import { requireObject, requireString } from './object-target.ts';

/** The fields that conditions of all kinds have. Kinds may require more of these, or have others. */
export interface AnyCondition {
  /** For example "Ready" or "example.com/Ready". A list has one condition of each type. */
  readonly type: string;
  /** "True", "False" or "Unknown". */
  readonly status: string;
  /** The reason, as one word in CamelCase. */
  readonly reason?: string;
  /** Why, as a sentence. */
  readonly message?: string;
  /** The `metadata.generation` for which the condition was determined. */
  readonly observedGeneration?: number;
  /** When the status last changed, as {@link formatTime} writes it. */
  readonly lastTransitionTime?: string;
}

/** A condition for {@link setCondition}, whose time may be omitted. */
export type NewCondition<C extends AnyCondition> = Omit<C, 'lastTransitionTime'> &
  Partial<Pick<C, 'lastTransitionTime'>>;

/**
 * Returns the condition of this type; undefined when there is none. The list may be undefined, as in an object without
 * a status.
 *
 * @example
 * ```ts
 * import { getCondition } from '@kapstan/api';
 * import type { Pod } from '@kapstan/kinds/core/v1';
 *
 * const isReady = (pod: Pod) => getCondition(pod.status?.conditions, 'Ready')?.status === 'True';
 * console.log(isReady({ status: { conditions: [{ type: 'Ready', status: 'True' }] } })); // true
 * ```
 */
export function getCondition<C extends AnyCondition>(
  conditions: readonly C[] | null | undefined,
  type: string,
): C | undefined {
  requireConditions(conditions);
  requireString(type, 'the type of a condition');
  return conditions?.find((condition) => condition.type === type);
}

/**
 * Returns a new list with this condition, which replaces the present condition of its type or is added at the end.
 * `lastTransitionTime` changes only with the status: to the given time, or else to now. All other fields come from the
 * given condition, so a field that it omits is dropped.
 */
export function setCondition<C extends AnyCondition>(
  conditions: readonly C[] | null | undefined,
  next: NewCondition<NoInfer<C>>,
  clock: Clock = systemClock,
): C[] {
  requireObject(next, 'a condition, such as { type, status, reason, message },');
  const { type, status, lastTransitionTime: given } = next as unknown as AnyCondition;
  requireString(type, 'the type of a condition');
  requireString(status, 'the status of a condition');
  const before = getCondition(conditions, type);
  const kept = before?.status === status ? before.lastTransitionTime : undefined;
  const condition = { ...next, lastTransitionTime: kept ?? given ?? formatTime(clock.now()) } as unknown as C;
  if (before === undefined) return [...(conditions ?? []), condition];
  return (conditions ?? []).map((one) => (one === before ? condition : one));
}

/** Throws TypeError unless given a list; a status passed by mistake would look like one without conditions. */
function requireConditions(conditions: unknown): void {
  if (conditions !== undefined && conditions !== null && !Array.isArray(conditions))
    throw new TypeError('conditions must be a list, such as object.status?.conditions');
}
