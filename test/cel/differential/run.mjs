// Differential test: generated expressions, evaluated by this package and by the libraries that Kubernetes runs (main.go).
//   node test/cel/differential/run.mjs [--count 20000] [--seed 1] [--show 20]
// It needs Go and its modules; without them it prints this and ends.
import { register } from 'node:module';
import { Generator, randomFrom, variables } from './generator.mjs';
import { askPeer, buildPeer } from './peer.mjs';

const option = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1];
};
const count = Number(option('--count', 20_000));
const seed = Number(option('--seed', 1));
let show = Number(option('--show', 20));

const peer = buildPeer();
if (peer === undefined) {
  console.log('SKIPPED: the differential test of expressions needs Go and the modules of test/cel/differential/go.mod');
  process.exit(0);
}
register('../../source-hooks.mjs', import.meta.url);
const { answer } = await import('../../../packages/cel/src/testing/recorded-case.ts');

/** Returns only the variables that an expression names, because the others cost time. */
function variablesOf(text) {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => new RegExp(`\\b${name}\\b`).test(text)));
}

const random = randomFrom(seed);
const questions = Array.from({ length: count }, () => {
  const generator = new Generator(random);
  const expr = generator.make(generator.type(2), 1 + random(4));
  return { expr, vars: variablesOf(expr) };
});
const wanted = askPeer(peer, questions);

const sorted = (value) =>
  value && typeof value === 'object'
    ? Array.isArray(value)
      ? value.map(sorted)
      : Object.fromEntries(
          Object.keys(value)
            .sort()
            .map((key) => [key, key === 'double' ? String(Number(value[key])) : sorted(value[key])]),
        )
    : value;
const text = (value) => JSON.stringify(sorted(value));

let differences = 0;
const outcomes = { crash: 0, compileError: 0, programError: 0, error: 0, result: 0 };
for (const [i, question] of questions.entries()) {
  const want = wanted[i];
  if (want.crash !== undefined) {
    outcomes.crash++;
    continue;
  }
  let got;
  try {
    got = answer(question);
  } catch (error) {
    got = { threw: error.stack.split('\n').slice(0, 4).join(' ') };
  }
  outcomes[Object.keys(outcomes).find((outcome) => want[outcome] !== undefined)]++;
  const [left, right] = [want, got].map((each) =>
    text(Object.fromEntries(Object.entries(each).filter(([, value]) => value !== undefined))),
  );
  if (left === right) continue;
  differences++;
  if (show-- > 0) console.log(`${question.expr}\n  want ${left.slice(0, 600)}\n  got  ${right.slice(0, 600)}`);
}
console.log(`${count} expressions, ${differences} differences; outcomes ${JSON.stringify(outcomes)}`);
process.exitCode = differences === 0 ? 0 : 1;
