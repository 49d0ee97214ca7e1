// Two lists of tolerations as one, without what another of them covers. Read by runtime-class.ts.
// Source: pkg/util/tolerations MergeTolerations.
import type { DeepReadonly } from '@kapstan/api';
import type { Toleration } from '@kapstan/kinds/core/v1';

type Given = DeepReadonly<Toleration>;

/** In their order; of equal ones the first. */
export function mergeTolerations(first: readonly Given[], second: readonly Given[]): Given[] {
  const all = [...first, ...second];
  const merged: Given[] = [];
  for (const [place, each] of all.entries()) {
    const isCovered = merged.some((other) => covers(other, each));
    const willBe = all.some((other, at) => at > place && !isSame(other, each) && covers(other, each));
    if (!isCovered && !willBe) merged.push(each);
  }
  return merged;
}

/** Source: isSuperset. */
function covers(wide: Given, narrow: Given): boolean {
  if (isSame(wide, narrow)) return true;
  if (!coversTaints(wide, narrow)) return false;
  const { operator = '', value = '' } = wide;
  if (operator === 'Exists') return true;
  return (operator === 'Equal' || operator === '') && narrow.operator === 'Equal' && value === (narrow.value ?? '');
}

/** Keys, effects and times; no key or effect stands for all. */
function coversTaints({ key, operator, effect, tolerationSeconds = Infinity }: Given, narrow: Given): boolean {
  const isOfAllKeys = !key && operator === 'Exists';
  if ((key ?? '') !== (narrow.key ?? '') && !isOfAllKeys) return false;
  if (effect && effect !== narrow.effect) return false;
  return effect !== 'NoExecute' || (narrow.tolerationSeconds ?? Infinity) <= tolerationSeconds;
}

function isSame(a: Given, b: Given): boolean {
  return (
    (a.key ?? '') === (b.key ?? '') &&
    (a.operator ?? '') === (b.operator ?? '') &&
    (a.value ?? '') === (b.value ?? '') &&
    (a.effect ?? '') === (b.effect ?? '') &&
    a.tolerationSeconds === b.tolerationSeconds
  );
}
