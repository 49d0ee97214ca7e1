import { describe, expect, it } from 'vitest';
import { answerRules, type RecordedRulesQuestion } from '../testing/recorded-rules.ts';
import type { Rule, RuleSchema } from './rule-schema.ts';

type Write = NonNullable<RecordedRulesQuestion['evaluations']>[number];

/** Answers writes of a Widget whose spec has one field `v`. */
function answers(v: RuleSchema, rules: readonly Rule[], evaluations: readonly Write[]) {
  const spec = { type: 'object', properties: { v: { ...v, 'x-kubernetes-validations': rules } } };
  const answer = answerRules({ schema: { type: 'object', properties: { spec } } as RuleSchema, evaluations });
  expect(answer.crdErrors).toEqual([]);
  return (answer.evaluations ?? []).map(({ errors, warnings = [], cost }) => ({
    errors: errors.map(({ text }) => text),
    warnings,
    cost,
  }));
}

const write = (v: unknown, old?: unknown): Write => ({
  object: { spec: { v } } as object,
  ...(old !== undefined && { oldObject: { spec: { v: old } } as object }),
});

describe('a rule that compares with the value before', () => {
  it('is not forgiven when nothing has changed', () => {
    const rule = { rule: 'self > 5 || oldSelf == 3' };
    expect(answers({ type: 'integer' }, [rule], [write(1, 1)])).toEqual([
      { errors: ['spec.v: Invalid value: 1: failed rule: self > 5 || oldSelf == 3'], warnings: [], cost: '4' },
    ]);
  });

  it('with an optional also runs on what is new, where its message cannot read the value before', () => {
    const rule = {
      rule: 'oldSelf.hasValue()',
      optionalOldSelf: true,
      messageExpression: "oldSelf.hasValue() ? 'there' : 'not there'",
    };
    expect(answers({ type: 'integer' }, [rule], [write(1)])[0]?.errors).toEqual([
      'spec.v: Invalid value: 1: failed rule: oldSelf.hasValue()',
    ]);
  });
});

describe('the budget of an object', () => {
  it('is spent by rules and messages alike, and only once for each', () => {
    const rule = { rule: 'self == 1', messageExpression: "self == 2 ? 'two' : 'not one'" };
    const [broken, kept] = answers({ type: 'integer' }, [rule, { rule: 'self < 5' }], [write(2), write(1)]);
    expect(broken).toMatchObject({ errors: ['spec.v: Invalid value: 2: two'], cost: '6' });
    expect(kept).toMatchObject({ errors: [], cost: '4' });
  });
});

describe('an object', () => {
  const nullable: RuleSchema = { type: 'object', properties: { n: { type: 'integer', nullable: true } } };

  it('has no property that is null', () => {
    expect(answers(nullable, [{ rule: '!has(self.n)' }], [write({ n: null })])[0]?.errors).toEqual([]);
  });

  it('is as small as what its writer has to send: defaults are filled in', () => {
    const item = (n: RuleSchema): RuleSchema =>
      ({
        type: 'object',
        properties: { n },
        required: ['n'],
        'x-kubernetes-validations': [{ rule: 'self.n > 0' }],
      }) as RuleSchema;
    const cardinality = (n: RuleSchema): string | undefined => {
      const list = { type: 'array', items: item(n) };
      return answerRules({ schema: { type: 'object', properties: { list } } as RuleSchema }).static[0]?.cardinality;
    };
    expect(cardinality({ type: 'integer' })).toBe(String(Math.trunc(3_145_728 / 9)));
    expect(cardinality({ type: 'integer', default: 1 })).toBe(String(Math.trunc(3_145_728 / 3)));
  });
});

describe('equality with the value before', () => {
  const items: RuleSchema = {
    type: 'object',
    properties: { k: { type: 'string' }, n: { type: 'number' } },
    required: ['k'],
  };
  const unchanged = [{ rule: 'self == oldSelf' }];

  it('holds for a list with keys in any order', () => {
    const keyed = { type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };
    const [one, two] = [
      { k: 'one', n: 1 },
      { k: 'two', n: 2.5 },
    ];
    const [moved, changed] = answers(keyed as RuleSchema, unchanged, [
      write([two, one], [one, two]),
      write([two, { k: 'one', n: 2 }], [one, two]),
    ]);
    expect(moved?.errors).toEqual([]);
    expect(changed?.errors).toEqual(['spec.v: Invalid value: failed rule: self == oldSelf']);
  });

  it('of lists with keys that are added takes the places of the left and the values of the right', () => {
    const keyed = { type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };
    const rule = { rule: '(self + oldSelf).map(item, item.n) == [3.0, 2.0, 4.0]' };
    const next = [
      { k: 'a', n: 1 },
      { k: 'b', n: 2 },
    ];
    const old = [
      { k: 'a', n: 3 },
      { k: 'c', n: 4 },
    ];
    expect(answers({ ...keyed, maxItems: 9 } as RuleSchema, [rule], [write(next, old)])[0]?.errors).toEqual([]);
  });

  it('looks at members of an object that its schema does not name', () => {
    const open = { type: 'object', properties: {}, 'x-kubernetes-preserve-unknown-fields': true };
    const [same, other] = answers(open as RuleSchema, unchanged, [
      write({ a: [1] }, { a: [1] }),
      write({ a: [1] }, { a: [2] }),
    ]);
    expect([same?.errors.length, other?.errors.length]).toEqual([0, 1]);
  });
});

describe('a value of another type', () => {
  const texts = { type: 'array', items: { type: 'string' }, maxItems: 3 } as RuleSchema;
  const lists = { type: 'array', items: texts, maxItems: 3 } as RuleSchema;
  const map = { type: 'object', additionalProperties: { type: 'string' }, maxProperties: 3 } as RuleSchema;
  const incomparable = (type: string, rule: string): string =>
    `spec.v: Invalid value: "${type}": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`;

  it.each<[string, RuleSchema, unknown]>([
    ['self == dyn(1)', texts, ['a']],
    ['self == dyn(1)', map, { a: 'b' }],
    ["'a' in dyn(self)", lists, [['a']]],
  ])('cannot be compared with a list or map of the object: %s', (rule, schema, value) => {
    expect(answers(schema, [{ rule }], [write(value)])[0]?.errors).toEqual([incomparable(schema.type as string, rule)]);
  });

  it.each<[string, RuleSchema, unknown]>([
    ['self != dyn(1)', texts, ['a']],
    ['!(dyn(1) == self)', texts, ['a']],
    ["['a'] in self", lists, [['b'], ['a']]],
  ])('is different: %s', (rule, schema, value) => {
    expect(answers(schema, [{ rule }], [write(value)])[0]?.errors).toEqual([]);
  });
});

describe('a text with a format', () => {
  it.each<[string, string, string]>([
    ['duration', "self == duration('1h30m')", '1h30m'],
    ['duration', "self == duration('192h')", '1 week and 1 day'],
    ['date', "self == timestamp('2024-02-29T00:00:00Z')", '2024-02-29'],
    ['date-time', "self == timestamp('2024-02-29T01:00:00Z')", '2024-02-29T02:00:00+01:00'],
    ['byte', "self == b'abc'", 'YWJj'],
    ['hostname', "self == 'example.com'", 'example.com'],
  ])('%s is seen as its type: %s', (format, rule, text) => {
    expect(answers({ type: 'string', format }, [{ rule }], [write(text)])[0]?.errors).toEqual([]);
  });

  it('byte is read in the alphabet of URLs, though it is checked in the other one', () => {
    const [answer] = answers({ type: 'string', format: 'byte' }, [{ rule: 'self.size() > 0' }], [write('ab+/')]);
    expect(answer?.errors).toEqual([
      'spec.v: Invalid value: "string": Invalid byte formatted string ab+/: illegal base64 data at input byte 2 evaluating rule: self.size() > 0',
    ]);
  });
});
