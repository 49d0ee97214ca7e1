// Differential test of syntax errors: expressions with tokens removed, repeated, swapped or replaced, whose errors are compared with those
// of the libraries that Kubernetes runs.
//   node test/cel/differential/syntax.mjs [--count 2000] [--seed 1] [--show 20]
// It needs Go and its modules; without them it prints this and ends.
import { register } from 'node:module';
import { Generator, randomFrom, variables } from './generator.mjs';
import { askPeer, buildPeer } from './peer.mjs';

const option = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1];
};
const count = Number(option('--count', 2000));
const seed = Number(option('--seed', 1));
let show = Number(option('--show', 20));

const peer = buildPeer();
if (peer === undefined) {
  console.log(
    'SKIPPED: the differential test of syntax errors needs Go and the modules of test/cel/differential/go.mod',
  );
  process.exit(0);
}
register('../../source-hooks.mjs', import.meta.url);
const { answer } = await import('../../../packages/cel/src/testing/recorded-case.ts');

const random = randomFrom(seed);
const tokens = [
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  '.',
  ':',
  '?',
  '!',
  '-',
  '+',
  '*',
  '/',
  '%',
  '&&',
  '||',
  '==',
  '<',
  'in',
  'a',
  'b',
  '1',
  '1.5',
  '2u',
  '"s"',
  'b"s"',
  'true',
  'null',
  '`x`',
  '=',
  '&',
  '@',
  '$',
  'if',
  'return',
  '  ',
  'x y',
];
const pick = (list) => list[random(list.length)];
const templates = [
  'a + b',
  'a.b.c',
  'f(a, b)',
  '[1, 2, 3]',
  '{"a": 1, "b": 2}',
  'a ? b : c',
  'T{x: 1, y: 2}',
  '-a',
  '!a',
  '!!a',
  '--a',
  'a[0]',
  'a.?b',
  '[?a, b]',
  'a.b(c).d',
  'a && b || c',
  '.a.b{}',
  'a in [1]',
  '(a)',
  '-1 + -a',
  'x.all(i, i > 0)',
];

function broken(text) {
  const parts = text.match(/"[^"]*"|\w+|&&|\|\||[<>=!]=|\s+|./g) ?? [];
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const at = random(parts.length + 1);
    const kind = random(4);
    if (kind === 0) parts.splice(at, 1);
    else if (kind === 1) parts.splice(at, 0, pick(tokens));
    else if (kind === 2) parts.splice(at, 1, pick(tokens));
    else parts.splice(at, parts.length);
  }
  return parts.join('');
}

const questions = Array.from({ length: count }, () => {
  const source =
    random(2) === 0 ? pick(templates) : new Generator(random).make(new Generator(random).type(1), 1 + random(2));
  const expr =
    random(5) === 0
      ? Array.from({ length: 1 + random(6) }, () => pick(tokens)).join(random(2) ? ' ' : '')
      : broken(source);
  return {
    expr: expr.toWellFormed(),
    vars: Object.fromEntries(Object.entries(variables).filter(([name]) => new RegExp(`\\b${name}\\b`).test(expr))),
  };
}).filter(({ expr }) => expr !== '');
const wanted = askPeer(peer, questions);

let asked = 0;
let different = 0;
for (const [i, question] of questions.entries()) {
  const want = wanted[i].compileError;
  if (want === undefined || !want.includes('Syntax error')) continue;
  asked++;
  const got = answer(question).compileError;
  if (got === want) continue;
  different++;
  if (show-- > 0)
    console.log(`${JSON.stringify(question.expr)}\n  want ${JSON.stringify(want)}\n  got  ${JSON.stringify(got)}`);
}
console.log(`${asked} expressions with syntax errors, ${asked - different} described in the same words`);
process.exitCode = different === 0 ? 0 : 1;
