// Cases of rules (x-kubernetes-validations) over lists, maps and texts that grow: rules that hold and that fail, at
// creation and when a value is compared with its old one.
import type { GrowthCase, GrowthRequest } from '../growth-case.ts';
import { members, mostMembers, newPattern, times } from '../growth-case.ts';
import {
  collectionOf,
  customObject,
  definitionOf,
  definitionPath,
  type GrowthKind,
  group,
  ruled,
} from './custom-resource-cases.ts';

const kind: GrowthKind = { kind: 'Ruled', plural: 'ruleds', versions: ['v1'] };
const collection = collectionOf(kind);

const integer = { type: 'integer' };
const integers = { type: 'array', items: integer, maxItems: 200_000 };
const named = { type: 'object', required: ['name'], properties: { name: { type: 'string' }, count: integer } };
const isNotLess = ruled(named, 'self.count >= oldSelf.count');
const messageExpression = "self < -1 ? 'far too small' : 'too small'";
const text = { type: 'string', maxLength: 3_000_000 };

export const ruledDefinition: GrowthRequest = definitionOf(kind, {
  messages: { type: 'array', maxItems: 50_000, items: ruled(integer, 'self >= 0', { messageExpression }) },
  reasons: {
    type: 'array',
    items: ruled(named, 'self.count >= 0', { reason: 'FieldValueForbidden', fieldPath: '.count' }),
  },
  values: { type: 'object', additionalProperties: ruled(integer, 'self >= 0') },
  list: ruled(integers, 'self.all(x, x >= 0)'),
  mapped: ruled({ ...integers, maxItems: 50_000 }, 'self.map(x, x + 1).filter(x, x > 0).size() == self.size()'),
  summed: ruled(integers, 'self.sum() >= 0 && self.max() >= self.min()'),
  grown: ruled({ ...integers, maxItems: 1_000_000 }, 'self.size() >= oldSelf.size()'),
  increasing: {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: isNotLess,
  },
  increasingValues: { type: 'object', maxProperties: 100_000, additionalProperties: ruled(integer, 'self >= oldSelf') },
  parts: ruled({ type: 'string', maxLength: 100_000 }, "self.split(',').all(x, x != 'q')"),
  pattern: ruled(text, "self.matches('^(a|b)*$')"),
});

const codes = [201, 200, 413, 422];

const patterned: GrowthKind = { kind: 'RulePatterned', plural: 'rulepatterneds', versions: ['v1'] };
const short = { type: 'string', maxLength: 3 };
const ofClasses = (n: number): GrowthRequest =>
  definitionOf(patterned, {
    matched: ruled(short, `self.matches('${newPattern(n)}')`),
    found: ruled(short, `self.find('${newPattern(n)}') == ''`),
  });
const given = { type: 'object', properties: { text: short, pattern: { type: 'string', maxLength: 500_000 } } };
const ofGiven = (): GrowthRequest =>
  definitionOf(patterned, { given: ruled(given, 'self.text.matches(self.pattern)') });
const repeated = (n: number): string => '((ab){0,30}){0,30}'.repeat(n / 900);
const patternedMade = [`${definitionPath}/${patterned.plural}.${group}`];

const patternedWrite = (
  name: string,
  full: number,
  { define, of }: { readonly define: (n: number) => GrowthRequest; readonly of: (n: number) => object },
): GrowthCase => ({
  ...{ name: `rule: ${name}`, full, codes, made: patternedMade },
  prepare: (n) => [
    define(n),
    {
      ...{ method: 'POST', path: `${collectionOf(patterned)}?dryRun=All`, isAwaited: true },
      body: customObject({}, patterned),
    },
  ],
  request: (n) => ({
    ...{ method: 'POST', path: `${collectionOf(patterned)}?dryRun=All` },
    body: customObject(of(n), patterned),
  }),
});

const creates = (name: string, full: number, of: (n: number) => object): GrowthCase => ({
  ...{ name: `rule: ${name}`, full, codes, made: [`${collection}/growth`] },
  request: (n) => ({ method: 'POST', path: collection, body: customObject(of(n), kind) }),
});

/** Replaces the spec with `next` after it was created as `of`. */
const replaces = (name: string, full: number, of: (n: number, add: number) => object): GrowthCase[] =>
  [1, -1].map((add) => ({
    ...{ name: `rule: ${name}, ${add > 0 ? 'kept' : 'broken'}`, full, codes, made: [`${collection}/growth`] },
    prepare: (n) => [{ method: 'POST', path: collection, body: customObject(of(n, 0), kind) }],
    request: (n) => ({
      ...{ method: 'PATCH', path: `${collection}/growth`, contentType: 'application/merge-patch+json' },
      body: { spec: of(n, add) },
    }),
  }));

const count = (n: number, each: (i: number) => number) => times(n, (i) => ({ name: `n${i}`, count: each(i) }));

export const ruleCases: readonly GrowthCase[] = [
  {
    ...{ name: 'rule: definition with a pattern of classes', full: 50_000, codes, made: patternedMade },
    request: ofClasses,
  },
  {
    ...{ name: 'rule: definition with many patterns', full: 60_000, codes, made: patternedMade },
    request: (n) =>
      definitionOf(patterned, {
        text: ruled(
          { type: 'string', maxLength: 10 },
          times(n / 30, () => `self.matches('${newPattern(15)}')`).join(' || '),
        ),
      }),
  },
  patternedWrite('pattern of classes, matched', 50_000, { define: ofClasses, of: () => ({ matched: 'abc' }) }),
  patternedWrite('pattern of classes, searched', 50_000, { define: ofClasses, of: () => ({ found: 'abc' }) }),
  patternedWrite('pattern of the object', 400_000, {
    define: ofGiven,
    of: (n) => ({ given: { text: 'abc', pattern: newPattern(n) } }),
  }),
  patternedWrite('pattern of the object with repetitions', 400_000, {
    define: ofGiven,
    of: (n) => ({ given: { text: 'abc', pattern: repeated(n) } }),
  }),
  creates('broken on each item, with an expression for its message', 50_000, (n) => ({
    messages: times(n, () => -1),
  })),
  creates('broken on a field of each item, with a reason', 60_000, (n) => ({ reasons: count(n, () => -1) })),
  creates('kept on a field of each item', 30_000, (n) => ({ reasons: count(n, () => 1) })),
  creates('broken on each value of a map', mostMembers, (n) => ({ values: members(n, () => -1) })),
  creates('broken by the last item', 200_000, (n) => ({ list: times(n, (i) => n - 2 - i) })),
  creates('over a list made of the list', 20_000, (n) => ({ mapped: times(n, (i) => i) })),
  creates('over the sum of a list', 200_000, (n) => ({ summed: times(n, (i) => i) })),
  creates('over the parts of a text', 100_000, (n) => ({ parts: times(n / 4, () => 'abc').join(',') })),
  creates('over a text and a pattern', 400_000, (n) => ({ pattern: 'ab'.repeat(n / 2) })),
  creates('over a text that the pattern does not match', 400_000, (n) => ({ pattern: `${'ab'.repeat(n / 2)}c` })),
  ...replaces('against old items by key', 30_000, (n, add) => ({ increasing: count(n, (i) => i + add) })),
  ...replaces('against old values of a map', 60_000, (n, add) => ({ increasingValues: members(n, (i) => i + add) })),
  ...replaces('against the old list', 100_000, (n, add) => ({ grown: times(n + add, (i) => i) })),
];
