// What a benchmark measured: a line to read, and a JSON line in reports/bench.json.
import { appendFileSync, mkdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../../reports/bench.json', import.meta.url));
const machine = `${cpus().length} x ${cpus()[0]?.model}`;

/**
 * Records one figure: `samples` are the repeated measurements, of which the median is the figure.
 * `peer` = { name, value, recorded? }: measured in this run, or taken from a run on record (no Node program can run that peer).
 */
export function figure({ bench, what, unit, samples, peer }) {
  const value = round(median(samples));
  const range = samples.length > 1 ? { min: round(Math.min(...samples)), max: round(Math.max(...samples)) } : {};
  const line = {
    date: new Date().toISOString(),
    node: process.versions.node,
    machine,
    bench,
    what,
    unit,
    value,
    ...range,
  };
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify(peer === undefined ? line : { ...line, peer })}\n`);
  const spread = samples.length > 1 ? ` (${range.min}…${range.max}, ${samples.length} runs)` : '';
  const beside = peer === undefined ? '' : `; ${peer.name}${peer.recorded ? ' (recorded)' : ''}: ${peer.value} ${unit}`;
  console.log(`${bench}: ${what}: ${value} ${unit}${spread}${beside}`);
  return value;
}

export function median(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function round(number) {
  return Number(number.toPrecision(3));
}
