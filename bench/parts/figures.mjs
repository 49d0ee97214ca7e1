// Reports the result of a benchmark: a line for people, and a JSON line in reports/bench.json.
import { appendFileSync, mkdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../../reports/bench.json', import.meta.url));
const machine = `${cpus().length} x ${cpus()[0]?.model}`;

/**
 * Records one figure: the median of `samples`, the repeated measurements. `peer` = { name, value, recorded? } was
 * measured in this run, or `recorded` before (no Node program can run that peer); `peers` are several. `target` = {
 * atMost | atLeast, why } is printed together with the outcome; a missed target does not fail the run.
 */
export function figure({ bench, what, unit, samples, peer, peers = peer === undefined ? [] : [peer], target }) {
  const value = round(median(samples));
  const range = samples.length > 1 ? { min: round(Math.min(...samples)), max: round(Math.max(...samples)) } : {};
  const goal = target === undefined ? undefined : { ...target, isMet: isMet(value, target) };
  const beside = { ...(peers.length === 0 ? {} : { peers }), ...(goal === undefined ? {} : { target: goal }) };
  const date = new Date().toISOString();
  const line = { date, node: process.versions.node, machine, bench, what, unit, value, ...range, ...beside };
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify(line)}\n`);
  const spread = samples.length > 1 ? ` (${range.min}…${range.max}, ${samples.length} runs)` : '';
  console.log(`${bench}: ${what}: ${value} ${unit}${spread}`);
  for (const { name, value: other, recorded } of peers)
    console.log(`    ${name}${recorded ? ' (recorded)' : ''}: ${round(other)} ${unit}, ratio ${round(value / other)}`);
  if (goal !== undefined) console.log(`    target ${goalText(goal, unit)}: ${goal.isMet ? 'met' : 'NOT MET'}`);
  return value;
}

const isMet = (value, { atMost = Infinity, atLeast = -Infinity }) => value <= atMost && value >= atLeast;

function goalText({ atMost, atLeast, why }, unit) {
  const limit = atMost === undefined ? `at least ${round(atLeast)}` : `at most ${round(atMost)}`;
  return `${limit} ${unit}${why === undefined ? '' : ` (${why})`}`;
}

export function median(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function round(number) {
  return Number(number.toPrecision(3));
}
