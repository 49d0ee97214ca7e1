// Measures rules like those of definitions: nanoseconds per evaluation and microseconds per compilation, compared with cel-go in the same
// run if Go is installed. Values are plain JSON of unknown type (dyn), the most expensive kind for both.
//   KAPSTAN_BENCH_ROUNDS=100000 npm run bench cel
import { compile } from '@kapstan/cel';
import { askPeer, buildPeer } from '../test/cel/differential/peer.mjs';

const rounds = Number(process.env.KAPSTAN_BENCH_ROUNDS ?? 100_000);

const self = {
  minReplicas: 1,
  replicas: 3,
  maxReplicas: 5,
  name: 'web',
  labels: { app: 'web' },
  items: Array.from({ length: 20 }, (_, i) => ({ name: `port-${i}`, port: i })),
};

const rules = [
  'self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas',
  "self.name == 'web'",
  'has(self.labels) && size(self.labels) > 0',
  "!has(self.type) || self.type in ['a', 'b', 'c']",
  "self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
  "self.name.startsWith('w') && self.name.size() <= 63",
  'self.items.all(i, i.port >= 0)',
  "self.items.exists(i, i.name == 'port-19')",
  'self.items.map(i, i.port).sum() > 3',
  'self.items.all(i, self.items.exists_one(j, j.name == i.name))',
  "quantity('1Gi').isGreaterThan(quantity('512Mi'))",
];

function measure(run, count) {
  for (let i = 0; i < Math.min(count, 20_000); i++) run();
  const start = process.hrtime.bigint();
  for (let i = 0; i < count; i++) run();
  return Number(process.hrtime.bigint() - start) / count;
}

const declarations = { variables: { self: 'dyn' } };
const ours = rules.map((text) => {
  const compiled = compile(text, { declarations });
  const probe = compiled.evaluate({ self });
  if (probe.error !== undefined) throw new Error(`${text}: ${probe.error}`);
  const count = Math.max(200, Math.min(rounds, Math.round((rounds * 50) / probe.cost)));
  return {
    evaluateNs: measure(() => compiled.evaluate({ self }), count),
    compileUs: measure(() => compile(text, { declarations }).program, 300) / 1000,
  };
});

const peer = buildPeer();
const questions = rules.map((expr) => ({ expr, vars: { self: { type: 'dyn', value: self } } }));
const theirs = peer === undefined ? undefined : askPeer(peer, questions, [String(Math.round(rounds / 10))]);
if (theirs === undefined) console.log('without cel-go: it needs Go and the modules of test/cel/differential/go.mod');

const column = (number, digits = 0) => number.toFixed(digits).padStart(9);
console.log('  eval ns   cel-go    ratio  compile µs   cel-go   rule');
for (const [i, rule] of rules.entries()) {
  const { evaluateNs, compileUs } = ours[i];
  const other = theirs?.[i];
  const ratio = other === undefined ? '' : column(evaluateNs / other.evaluateNs, 2);
  console.log(
    [
      column(evaluateNs),
      other && column(other.evaluateNs),
      ratio,
      column(compileUs),
      other && column(other.compileUs),
      `  ${rule}`,
    ].join(''),
  );
}

/** Goal of an evaluation, as a multiple of Go's time. */
const goal = 3;
function printRatios(title, key) {
  const ratios = ours.map((own, i) => own[key] / theirs[i][key]);
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  console.log(`${title}: ${mean.toFixed(2)} × cel-go (geometric mean), ${Math.max(...ratios).toFixed(2)} × at most`);
  return Math.max(...ratios);
}
if (theirs !== undefined) {
  const worst = printRatios('evaluation', 'evaluateNs');
  console.log(`    target at most ${goal} × of each rule: ${worst <= goal ? 'met' : 'NOT MET'}`);
  printRatios('compilation', 'compileUs');
}
