import { runWhole } from '@kapstan/api/internal';
import type { Toleration } from '@kapstan/kinds/core/v1';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { mergeTolerations } from './toleration-merge.ts';

const exists = (key: string): Toleration => ({ key, operator: 'Exists' });
const equal = (value: string): Toleration => ({ key: 'k', operator: 'Equal', value });
const plain: Toleration = { key: 'k', value: 'v' };
const scheduling: Toleration = { ...exists('k'), effect: 'NoSchedule' };
const everything: Toleration = { operator: 'Exists' };
const running = (tolerationSeconds?: number): Toleration => ({
  ...exists('k'),
  effect: 'NoExecute',
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});

it.each<[Toleration[], Toleration[], Toleration[]]>([
  [[], [], []],
  [[exists('a')], [exists('b')], [exists('a'), exists('b')]],
  [[exists('a')], [exists('a')], [exists('a')]],
  [[scheduling], [exists('k')], [exists('k')]],
  [[exists('k')], [scheduling], [exists('k')]],
  [[exists('a'), equal('v')], [everything], [everything]],
  [[equal('v')], [exists('k')], [exists('k')]],
  [[equal('v')], [equal('w')], [equal('v'), equal('w')]],
  [[plain], [equal('v')], [plain]],
  [[equal('v')], [plain], [plain]],
  [[{ ...plain, effect: 'NoSchedule' }], [equal('v')], [{ ...plain, effect: 'NoSchedule' }, equal('v')]],
  [[running(10)], [running(20)], [running(20)]],
  [[running(20)], [running(10)], [running(20)]],
  [[running(20)], [running()], [running()]],
  [[running(0)], [running(10)], [running(10)]],
  [[running()], [scheduling], [running(), scheduling]],
])('%#: keeps what no other covers', (first, second, merged) => {
  expect(runWhole(mergeTolerations(first, second))).toEqual(merged);
});

/** Merges by definition: each toleration is compared with all others. */
function mergedByDefinition(first: readonly Toleration[], second: readonly Toleration[]): Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  for (const [place, each] of all.entries()) {
    const isCovered = merged.some((other) => covers(other, each));
    const willBe = all.some((other, at) => at > place && !isSame(other, each) && covers(other, each));
    if (!isCovered && !willBe) merged.push(each);
  }
  return merged;
}

const isSame = (a: Toleration, b: Toleration): boolean =>
  (['key', 'operator', 'value', 'effect'] as const).every((name) => (a[name] ?? '') === (b[name] ?? '')) &&
  a.tolerationSeconds === b.tolerationSeconds;

function covers(wide: Toleration, narrow: Toleration): boolean {
  if (isSame(wide, narrow)) return true;
  const { key, operator = '', value = '', effect, tolerationSeconds = Infinity } = wide;
  if ((key ?? '') !== (narrow.key ?? '') && (key || operator !== 'Exists')) return false;
  if (effect && effect !== narrow.effect) return false;
  if (effect === 'NoExecute' && (narrow.tolerationSeconds ?? Infinity) > tolerationSeconds) return false;
  if (operator === 'Exists') return true;
  return (operator === 'Equal' || operator === '') && narrow.operator === 'Equal' && value === (narrow.value ?? '');
}

it('keeps what a comparison of each with all others keeps', () => {
  const toleration = fc.record(
    {
      key: fc.constantFrom('', 'a', 'b'),
      operator: fc.constantFrom('', 'Exists', 'Equal', 'Gt'),
      value: fc.constantFrom('', '1', '2'),
      effect: fc.constantFrom('', 'NoSchedule', 'NoExecute'),
      tolerationSeconds: fc.constantFrom(-1, 0, 10, 20),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<Toleration>;
  const list = fc.array(toleration, { maxLength: 8 });
  const same = fc.property(list, list, (first, second) => {
    expect(runWhole(mergeTolerations(first, second))).toEqual(mergedByDefinition(first, second));
  });
  fc.assert(same, { numRuns: 2_000 });
});

it('looks at each toleration a few times, however many there are', () => {
  let looks = 0;
  const watched = <T extends { readonly key?: string }>(toleration: T): T => {
    const { key } = toleration;
    const look = (): string | undefined => {
      looks += 1;
      return key;
    };
    return Object.defineProperty({ ...toleration }, 'key', { configurable: true, enumerable: true, get: look });
  };
  const looksAt = (count: number): number => {
    const first = Array.from({ length: count }, (_, index) => watched(exists(`a${index}`)));
    const second = Array.from({ length: count }, (_, index) => watched({ ...running(index), key: `b${index % 7}` }));
    looks = 0;
    runWhole(mergeTolerations(first, second));
    return looks / count;
  };
  const few = looksAt(1_000);
  expect(few).toBeGreaterThan(0);
  expect(looksAt(4_000)).toBeLessThan(1.2 * few);
});

it('gives way while it goes on', () => {
  const many = Array.from({ length: 5_000 }, (_, index) => exists(`a${index}`));
  expect([...mergeTolerations(many, [])].length).toBeGreaterThan(20);
});
