import { describe, expect, it } from 'vitest';
import { compile } from './compile.ts';
import { CelCompileError, CelProgramError } from './syntax/issues.ts';

/** KAPSTAN_CEL_FUZZ sets the number of expressions; a million takes some minutes. */
const rounds = Number(process.env.KAPSTAN_CEL_FUZZ ?? 20_000);

/** Returns a random number generator that gives the same numbers in each run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const words = [
  ...[
    '1',
    '-1',
    '2u',
    '1.5',
    '1e3',
    "'a'",
    '"b"',
    "b'c'",
    "r'\\d'",
    'true',
    'false',
    'null',
    '[]',
    '{}',
    '[1, 2]',
    "{'a': 1}",
  ],
  ...[
    'x',
    'y',
    'self',
    '.x',
    'x.y',
    'in',
    'has',
    'size',
    'map',
    'all',
    'exists',
    'filter',
    'int',
    'string',
    'duration',
    'type',
  ],
  ...[
    '+',
    '-',
    '*',
    '/',
    '%',
    '==',
    '!=',
    '<',
    '<=',
    '>',
    '>=',
    '&&',
    '||',
    '!',
    '?',
    ':',
    '.',
    ',',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
  ],
  ...[
    '.map(i, i)',
    '.all(i, i > 0)',
    '.?a',
    '[?0]',
    '.size()',
    '.matches("a+")',
    '.format([1])',
    '`a`',
    '//',
    '\n',
    '\\',
    '\u0000',
  ],
  ...[
    '0x',
    '1e',
    "'",
    '"""',
    '\ud800',
    '😀',
    '@',
    '#',
    '$',
    'optional.of(1)',
    '.optMap(v, v)',
    '.sortBy(e, -e)',
    "quantity('1Gi')",
  ],
  ...['9223372036854775808', '-9223372036854775808', '1e400', "'\\u0041'", "'\\x'", 'lists.range(3)', 'ip("::1")', '%'],
];

const leaves = [
  ...[
    'x',
    'y',
    'self',
    'i',
    'e',
    'self.a',
    'self.b',
    'self.y.x',
    'y[0]',
    'self.c',
    'true',
    'null',
    '0',
    '-7',
    '3u',
    '2.5',
  ],
  ...["''", "'a b'", "b'\\xff'", '[]', '{}', "duration('1h')", "timestamp('2020-01-01T00:00:00Z')", "quantity('1Gi')"],
  ...[
    "ip('::1')",
    "cidr('10.0.0.0/8')",
    "url('https://a.b/c')",
    "semver('1.2.3')",
    'optional.none()',
    'int',
    'type(x)',
  ],
];
const operators = ['+', '-', '*', '/', '%', '==', '!=', '<', '<=', '>', '>=', '&&', '||', 'in'];
const members = [
  'size()',
  'a',
  'b',
  '?a',
  'getHours()',
  'sum()',
  'min()',
  'isSorted()',
  'lowerAscii()',
  'asInteger()',
  'orValue(1)',
];
const withOne = [
  'contains',
  'matches',
  'split',
  'indexOf',
  'isLessThan',
  'join',
  'format',
  'startsWith',
  'find',
  'containsIP',
  'flatten',
];
const macros = ['all', 'exists', 'exists_one', 'map', 'filter', 'sortBy', 'transformList', 'optMap'];
const functions = [
  'size',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'dyn',
  'type',
  'has',
  'lists.range',
  'optional.of',
  'sets.contains',
];

/** Returns a text that follows the grammar, whose types may be wrong. */
function expression(random: (below: number) => number, depth: number): string {
  const part = (): string => expression(random, depth - 1);
  const one = (of: readonly string[]): string => of[random(of.length)] as string;
  if (depth === 0) return one(leaves);
  switch (random(10)) {
    case 0:
      return one(leaves);
    case 1:
      return `${one(['!', '-'])}(${part()})`;
    case 2:
    case 3:
      return `(${part()} ${one(operators)} ${part()})`;
    case 4:
      return `(${part()} ? ${part()} : ${part()})`;
    case 5:
      return `${part()}.${one(members)}`;
    case 6:
      return `${part()}.${one(withOne)}(${part()})`;
    case 7:
      return `${part()}.${one(macros)}(${one(['i', 'i, e', 'e'])}, ${part()})`;
    case 8:
      return `${one(functions)}(${part()})`;
    default:
      return one([`[${part()}, ${part()}]`, `{${part()}: ${part()}}`, `${part()}[${part()}]`, `${part()}[?${part()}]`]);
  }
}

function compileAndRun(text: string): void {
  try {
    const compiled = compile(text, { declarations: { variables: { x: 'int', y: 'list(dyn)', self: 'dyn' } } });
    expect(compiled.cost.min).toBeLessThanOrEqual(compiled.cost.max);
    compiled.evaluate({ x: 1, y: ['a', 1], self: { a: 1, b: [1, 2], y: { x: null } } }, { budget: 10_000 });
  } catch (error) {
    if (!(error instanceof CelCompileError) && !(error instanceof CelProgramError)) {
      throw new Error(`the expression ${JSON.stringify(text)} threw`, { cause: error });
    }
  }
}

describe('any text', () => {
  it('made of words of the language compiles, or fails with an error of the package', () => {
    const random = randomFrom(1);
    for (let round = 0; round < rounds; round++) {
      const count = 1 + random(12);
      compileAndRun(Array.from({ length: count }, () => words[random(words.length)]).join(random(2) === 0 ? ' ' : ''));
    }
  }, 3_600_000);

  it('of random expressions compiles and ends, or fails with an error of the package', () => {
    const random = randomFrom(3);
    for (let round = 0; round < rounds; round++) compileAndRun(expression(random, 1 + random(4)));
  }, 3_600_000);

  it('of random characters compiles, or fails with an error of the package', () => {
    const random = randomFrom(2);
    for (let round = 0; round < rounds / 4; round++) {
      const codes = Array.from({ length: 1 + random(20) }, () =>
        random(8) === 0 ? random(0x11_0000) : 32 + random(96),
      );
      compileAndRun(String.fromCodePoint(...codes));
    }
  }, 3_600_000);
});

describe('hostile texts', () => {
  it.each([
    ['brackets', '('.repeat(50_000)],
    ['lists', '['.repeat(50_000)],
    ['a chain of selections', `x${'.a'.repeat(40_000)}`],
    ['a chain of sums', `1${'+1'.repeat(49_000)}`],
    ['negations', `${'!'.repeat(90_000)}true`],
    ['conditions', `${'true ? 1 : '.repeat(9_000)}1`],
    ['conjunctions', `true${' && true'.repeat(12_000)}`],
    ['nested macros', `${'[1].map(a, '.repeat(3_000)}1${')'.repeat(3_000)}`],
    ['a long text', `'${'a'.repeat(99_000)}'`],
    ['escapes', `b'${'\\xff'.repeat(24_000)}'`],
    ['more than may be written', ' '.repeat(100_001)],
    ['a long list', `[${'1,'.repeat(49_000)}1]`],
    ['a pattern of many parts', `'a'.matches('${'(a|b)*'.repeat(2_000)}')`],
    ['a pattern of large counts', "'a'.matches('((a{1,1000}){1,1000}){1,1000}')"],
  ])('%s end soon', (_, text) => {
    compileAndRun(text);
  });
});
