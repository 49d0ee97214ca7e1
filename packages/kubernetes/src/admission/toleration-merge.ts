// Merges two lists of tolerations and drops those that others cover. Used by runtime-class.ts. Both lists may be long,
// so tolerations are looked up by what they cover, while Kubernetes compares each with all others. Source:
// pkg/util/tolerations MergeTolerations.

import type { DeepReadonly } from '@kapstan/api';
import { eachInSlices, type SlicedWork } from '@kapstan/api/internal';
import type { Toleration } from '@kapstan/kinds/core/v1';

type Given = DeepReadonly<Toleration>;

/** Keeps the order; of equal tolerations the first stays. */
export function* mergeTolerations(first: readonly Given[], second: readonly Given[]): SlicedWork<Given[]> {
  const candidates = yield* notCoveredLater([...first, ...second]);
  const merged: Given[] = [];
  const kept = new Covers();
  const identities = new Set<string>();
  yield* eachInSlices(candidates, (each) => {
    const identity = identityOf(each);
    if (identities.has(identity) || kept.coversByOther(each)) return;
    identities.add(identity);
    kept.add(each);
    merged.push(each);
  });
  return merged;
}

/** Drops tolerations that a later one covers; one that is dropped still covers those before it. */
function* notCoveredLater(all: Given[]): SlicedWork<Given[]> {
  const later = new Covers();
  const left: Given[] = [];
  yield* eachInSlices(all.reverse(), (each) => {
    if (!later.coversByOther(each)) left.push(each);
    later.add(each);
  });
  return left.reverse();
}

interface Cover {
  readonly identity: string;
  /** Time for which it tolerates the taint. */
  readonly seconds: number;
}

/** Tolerations by the key, value and effect that they cover. Source: isSuperset. */
class Covers {
  /**
   * For each slot the two different tolerations that last longest. Two suffice: if one is the toleration in question,
   * which does not count, the other lasts at least as long as all the rest.
   */
  readonly #longest = new Map<string, readonly Cover[]>();

  add(toleration: Given): void {
    const { key, operator = '', value, effect } = toleration;
    if (!wideOperators.has(operator)) return;
    const slot = slotOf(key, operator === 'Exists' ? undefined : (value ?? ''), effect);
    const others = this.#longest.get(slot) ?? [];
    const cover = { identity: identityOf(toleration), seconds: secondsOf(toleration) };
    if (others.some(({ identity }) => identity === cover.identity)) return;
    this.#longest.set(slot, [...others, cover].sort(longestFirst).slice(0, 2));
  }

  /** True when a toleration other than this one covers it. */
  coversByOther(narrow: Given): boolean {
    const { key, operator, value = '', effect } = narrow;
    const identity = identityOf(narrow);
    const seconds = secondsOf(narrow);
    const isCoveredIn = (slot: string, leastSeconds: number): boolean =>
      this.#longest.get(slot)?.some((wide) => wide.identity !== identity && wide.seconds >= leastSeconds) === true;
    const isCovered = (wideKey: string | undefined, wideValue: string | undefined): boolean =>
      isCoveredIn(slotOf(wideKey, wideValue, ''), Number.NEGATIVE_INFINITY) ||
      isCoveredIn(slotOf(wideKey, wideValue, effect), seconds);
    // "Exists" without a key covers all keys.
    return isCovered(key, undefined) || isCovered('', undefined) || (operator === 'Equal' && isCovered(key, value));
  }
}

/** Tolerations with any other operator cover only themselves. */
const wideOperators: ReadonlySet<string> = new Set(['Exists', 'Equal', '']);

/** `value` is undefined for all values; an empty effect means all effects. */
function slotOf(key = '', value: string | undefined, effect = ''): string {
  return `${quoted(key)}${quoted(effect)}${value === undefined ? '' : quoted(value)}`;
}

/** The time matters only for "NoExecute". */
function secondsOf({ effect, tolerationSeconds }: Given): number {
  return effect === 'NoExecute' ? (tolerationSeconds ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}

function longestFirst(a: Cover, b: Cover): number {
  return a.seconds === b.seconds ? 0 : b.seconds - a.seconds;
}

function identityOf(toleration: Given): string {
  const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration;
  return `${quoted(key)}${quoted(operator)}${quoted(value)}${quoted(effect)}${tolerationSeconds}`;
}

/** Prefixes a text with its length, so that joined texts stay distinct. */
function quoted(text: string): string {
  return `${text.length}:${text}`;
}
