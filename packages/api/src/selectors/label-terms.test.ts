import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FieldSelector } from './field-selector.ts';
import type { LabelOperator, LabelRequirement } from './label-requirement.ts';
import { LabelSelector } from './label-selector.ts';

const key = fc.constantFrom('a', 'b', 'c', 'constructor');
const value = fc.constantFrom('', 'x', 'y', '1', '2', '9223372036854775808');
const labels = fc.dictionary(key, value, { noNullPrototype: true });
const numberOfValues: Partial<Record<LabelOperator, [min: number, max: number]>> = {
  in: [1, 3],
  notin: [1, 3],
  exists: [0, 0],
  '!': [0, 0],
};
const requirement: fc.Arbitrary<LabelRequirement> = fc
  .tuple(key, fc.constantFrom<LabelOperator>('=', '==', '!=', 'in', 'notin', 'exists', '!', '>', '<'))
  .chain(([name, operator]) => {
    const [minLength, maxLength] = numberOfValues[operator] ?? [1, 1];
    return fc.record({
      key: fc.constant(name),
      operator: fc.constant(operator),
      values: fc.array(value, { minLength, maxLength }),
    });
  });

describe('a long selector', () => {
  it('says of labels what its terms say one by one', () => {
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 3 }), labels, (terms, object) => {
        const expected = terms.every((term) => new LabelSelector([term]).matches(object));
        const padding: LabelRequirement[] = Array.from({ length: 9 }, () => ({ key: 'z', operator: '!', values: [] }));
        expect(new LabelSelector([...padding, ...terms]).matches(object)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('says of fields what its terms say one by one', () => {
    const term = fc.record({ field: key, operator: fc.constantFrom('=' as const, '!=' as const), value });
    fc.assert(
      fc.property(fc.array(term, { maxLength: 3 }), labels, (terms, object) => {
        const expected = terms.every((each) => new FieldSelector([each]).matches(object));
        const padding = Array.from({ length: 9 }, () => ({ field: 'z', operator: '!=' as const, value: 'z' }));
        expect(new FieldSelector([...padding, ...terms]).matches(object)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, (i: number) => LabelRequirement]>([
    ['one key each', (i) => ({ key: `k${i}`, operator: '!=', values: ['v'] })],
    ['one key', (i) => ({ key: 'app', operator: '!=', values: [`v${i}`] })],
    ['keys that have to be there', (i) => ({ key: i === 0 ? 'app' : `k${i}`, operator: 'exists', values: [] })],
  ])('asks an object no more often than it has labels: terms of %s', (_what, term) => {
    const selector = new LabelSelector(Array.from({ length: 10_000 }, (_, i) => term(i)));
    let asked = 0;
    const object = new Proxy<Record<string, string>>(
      { app: 'web', tier: 'front' },
      {
        getOwnPropertyDescriptor: (target, name) => {
          asked++;
          return Reflect.getOwnPropertyDescriptor(target, name);
        },
        get: (target, name, receiver) => {
          asked++;
          return Reflect.get(target, name, receiver);
        },
      },
    );
    selector.matches(object);
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThan(10);
  });

  it('looks a value up, however many there are', () => {
    let compared = 0;
    const counted = Array.from({ length: 10_000 }, (_, i) => `v${i}`);
    const values = new Proxy(counted, {
      get: (target, name, receiver) => {
        compared++;
        return Reflect.get(target, name, receiver);
      },
    });
    const selector = new LabelSelector([{ key: 'app', operator: 'in', values }]);
    expect(selector.matches({ app: 'v9999' })).toBe(true);
    compared = 0;
    expect(selector.matches({ app: 'v9998' })).toBe(true);
    expect(selector.matches({ app: 'v' })).toBe(false);
    expect(compared).toBe(0);
  });
});
