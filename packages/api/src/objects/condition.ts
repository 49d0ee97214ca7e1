// Status conditions: finds one by its type, and sets one as Kubernetes' own controllers do. Pure: a list goes in, a new list
// comes out. Source: apimachinery api/meta FindStatusCondition and SetStatusCondition.
import { type Clock, formatTime, systemClock } from '../time/clock.ts';
import { requireObject, requireString } from './object-target.ts';

/** The fields that conditions of all kinds have. Kinds may require more of them, or have others beside. */
export interface AnyCondition {
  /** "Ready", or "example.com/Ready". A list has one condition of each type. */
  readonly type: string;
  /** "True", "False" or "Unknown". */
  readonly status: string;
  /** Why, as one word in CamelCase. */
  readonly reason?: string;
  /** Why, as a sentence. */
  readonly message?: string;
  /** The `metadata.generation` that this was found out for. */
  readonly observedGeneration?: number;
  /** When the status changed last, as {@link formatTime} writes it. */
  readonly lastTransitionTime?: string;
}

/** A condition whose time may be left out, as {@link setCondition} knows it. */
export type NewCondition<C extends AnyCondition> = Omit<C, 'lastTransitionTime'> &
  Partial<Pick<C, 'lastTransitionTime'>>;

/** Returns the condition of this type; undefined when there is none. The list may be missing, as in an object without a status. */
export function getCondition<C extends AnyCondition>(
  conditions: readonly C[] | null | undefined,
  type: string,
): C | undefined {
  requireConditions(conditions);
  requireString(type, 'the type of a condition');
  return conditions?.find((condition) => condition.type === type);
}

/**
 * Returns the list with this condition in it, in the place of the one of its type, else at the end. `lastTransitionTime` moves
 * only when the status changes: to the given time, else to now. Every other field becomes what is given, so one that is left
 * out goes. The given list stays as it is.
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

/** Throws TypeError: a status instead of its conditions would seem to have none. */
function requireConditions(conditions: unknown): void {
  if (conditions !== undefined && conditions !== null && !Array.isArray(conditions))
    throw new TypeError('conditions must be a list, such as object.status?.conditions');
}
