// Tests that no request blocks the event loop. Each case of cases/ is sent in growing sizes to a real server: CPU of
// the main thread and of the busiest other thread grows by less than n^1.2, no turn is long, answers are bounded, and the
// memory comes back. The kernel counts CPU, so a busy machine changes it little. A result above its bound is measured
// again, and the lowest of all runs counts.
//   npm run test:growth                     up to the largest allowed request, with a table
//   npm run test:growth -- --grep volumes   the cases with that text in their names; 'volumes|ports' = with one of these
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { growthCases } from './cases/index.ts';
import { filledCases, fillers } from './cases/schema-cases.ts';
import { type GrowthCase, usualCodes } from './growth-case.ts';
import { type Answer, type Cost, GrowthServer } from './growth-server.ts';

const isWhole = process.env.KAPSTAN_GROWTH === 'whole';
const grep = process.env.KAPSTAN_GROWTH_GREP ?? '';
/** Largest size of the short run, as a part of `full`. */
const shortPart = 1 / 8;
/** The short run allows for the noise of other processes; a quadratic stage reaches 1.5 and more. */
const mostExponent = isWhole ? 1.2 : 1.35;
/** CPU time, in milliseconds, below which the noise of collections and compilations exceeds the growth. */
const leastCpuMs = isWhole ? 100 : 200;
/** The same for other threads, which first have to compile what they run. */
const leastOtherCpuMs = isWhole ? 200 : 500;
/** Longest turn that any request may cause, in milliseconds. The short run shares its machine with other tests, whose use of caches and memory costs. */
const mostTurnMs = isWhole ? 50 : 65;
const mostAnswerBytes = 8 * 1024 * 1024;
const mostRuns = 4;
/** Growth that caches and the history of watches may cause in a second round. */
const mostUsedGrowthMb = isWhole ? 64 : 32;
const mergePatch = 'application/merge-patch+json';

let server: GrowthServer;
const table: Record<string, unknown>[] = [];

const isChosen = ({ name }: GrowthCase) => grep.split('|').some((part) => name.includes(part));
const chosen = growthCases.filter(isChosen);
const named = chosen.filter(({ tags = [] }) => !tags.includes('schema'));
const ofSchemas = chosen.filter(({ tags = [] }) => tags.includes('schema'));
/** The short run takes one of `every` cases. */
const shapes = [
  { shape: 'list', how: 'created', every: 2 },
  { shape: 'map', how: 'created', every: 1 },
  { shape: 'text', how: 'created', every: 8 },
  { shape: 'list', how: 'updated', every: 8 },
  { shape: 'map', how: 'updated', every: 4 },
  { shape: 'text', how: 'updated', every: 16 },
].map(({ shape, how, every }) => {
  const cases = ofSchemas.filter(
    ({ name }) => name.startsWith(shape) && name.endsWith(', updated') === (how === 'updated'),
  );
  return { shape, how, cases: grep === '' ? partOf(cases, every) : cases };
});

beforeAll(async () => {
  server = await GrowthServer.start();
  for (const growing of growthCases.slice(0, 20)) await run(growing, 16);
});

afterAll(async () => {
  await server.close();
  if (isWhole) console.table(table);
});

async function clear({ made = [] }: GrowthCase): Promise<void> {
  for (const path of made) {
    const { status, start } = await server.send({ method: 'DELETE', path: `${path}?gracePeriodSeconds=0` });
    if (status === 404 || start.includes('"kind":"Status"')) continue;
    await server.send({ method: 'PATCH', path, contentType: mergePatch, body: { metadata: { finalizers: null } } });
  }
}

async function run(growing: GrowthCase, n: number): Promise<{ readonly answer: Answer; readonly cost: Cost }> {
  for (const sent of growing.prepare?.(n) ?? []) {
    const { status, start } = await server.send(sent);
    if (status >= 300) throw new Error(`preparing ${growing.name}: ${status} ${start}`);
  }
  const watched = growing.watches?.(n);
  const watches = watched && (await server.openWatches(watched));
  const measured = await server.measure(growing.request(n), watches);
  watches?.close();
  if (growing.prepare !== undefined || measured.answer.status < 300) await clear(growing);
  return measured;
}

/** Keeps the lowest of several runs at one size, because the rest came from elsewhere. */
class Size {
  readonly n: number;
  answer: Answer = { status: 0, bytes: 0, start: '' };
  cost: Cost = {
    cpuMs: Number.POSITIVE_INFINITY,
    otherCpuMs: Number.POSITIVE_INFINITY,
    turnMs: Number.POSITIVE_INFINITY,
  };

  constructor(n: number) {
    this.n = n;
  }

  async measure(growing: GrowthCase): Promise<void> {
    const { answer, cost } = await run(growing, this.n);
    this.answer = answer;
    const { cpuMs, otherCpuMs, turnMs } = this.cost;
    this.cost = {
      cpuMs: Math.min(cpuMs, cost.cpuMs),
      otherCpuMs: Math.min(otherCpuMs, cost.otherCpuMs),
      turnMs: Math.min(turnMs, cost.turnMs),
    };
  }
}

/**
 * Returns the least exponent of what a smaller and the largest size cost; 0 where that is too little to be told, or there is one
 * size.
 */
function exponentOf(sizes: readonly Size[], of: 'cpuMs' | 'otherCpuMs', leastMs: number): number {
  const largest = sizes.at(-1);
  if (largest === undefined || sizes.length < 2 || largest.cost[of] < leastMs) return 0;
  const exponents = sizes
    .slice(0, -1)
    .map(({ n, cost }) => Math.log(largest.cost[of] / Math.max(cost[of], 1)) / Math.log(largest.n / n));
  return Math.min(...exponents);
}

/**
 * Returns the fault in the growth of a case; empty when there is none. `parts` are sizes as fractions of `full`, the
 * largest last.
 */
async function faultsOf(growing: GrowthCase, parts: readonly number[]): Promise<readonly string[]> {
  const most = Math.max(4, growing.full * (isWhole ? 1 : shortPart));
  const sizes = parts.map((part) => new Size(Math.floor(most * part)));
  const largest = sizes.at(-1) as Size;
  const exponents = () => ({
    main: exponentOf(sizes, 'cpuMs', leastCpuMs),
    other: exponentOf(sizes, 'otherCpuMs', leastOtherCpuMs),
  });
  const isWithin = () => largest.cost.turnMs <= mostTurnMs && Math.max(...Object.values(exponents())) < mostExponent;
  for (let runs = 0; runs < mostRuns && !isWithin(); runs++) for (const size of sizes) await size.measure(growing);
  const { answer, cost } = largest;
  const { main, other } = exponents();
  const [smallest] = sizes;
  table.push({
    ...{ case: growing.name, n: largest.n, status: answer.status, KB: Math.round(answer.bytes / 1024) },
    ...{ 'CPU ms, n': Math.round(smallest?.cost.cpuMs ?? 0), '4n': Math.round(cost.cpuMs) },
    ...{ exponent: Number(main.toFixed(2)), 'turn ms': Math.round(cost.turnMs) },
    ...{ 'other 4n': Math.round(cost.otherCpuMs), 'other exponent': Number(other.toFixed(2)) },
  });
  const isExpected = (growing.codes ?? usualCodes).includes(answer.status);
  return [
    ...(isExpected ? [] : [`answers ${answer.status} ${answer.start}`]),
    ...(answer.bytes <= mostAnswerBytes ? [] : [`answers ${answer.bytes} bytes`]),
    ...(main < mostExponent ? [] : [`CPU grows with n^${main.toFixed(2)} to ${cost.cpuMs.toFixed(0)} ms`]),
    ...(other < mostExponent
      ? []
      : [`CPU of another thread grows with n^${other.toFixed(2)} to ${cost.otherCpuMs.toFixed(0)} ms`]),
    ...(cost.turnMs <= mostTurnMs ? [] : [`a turn of ${cost.turnMs.toFixed(0)} ms at n = ${largest.n}`]),
  ].map((fault) => `${growing.name}: ${fault}`);
}

async function allFaultsOf(cases: readonly GrowthCase[], parts: readonly number[]): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const growing of cases) faults.push(...(await faultsOf(growing, parts)));
  return faults;
}

/** Returns every case in the whole run, and one of `every` in the short one. */
function partOf(cases: readonly GrowthCase[], every: number): readonly GrowthCase[] {
  return isWhole ? cases : cases.filter((_, index) => index % every === 0);
}

describe('cost of a request', () => {
  test.each(named)('grows with its size, in short turns: $name', async (growing) => {
    expect(await faultsOf(growing, [1 / 4, 1 / 2, 1])).toEqual([]);
  });

  test.each(shapes)('grows with each $shape of each kind when it is $how, in short turns', async ({ cases }) => {
    expect(await allFaultsOf(cases, isWhole ? [1 / 4, 1 / 2, 1] : [1 / 8, 1 / 2])).toEqual([]);
  });

  // A quadratic stage shows at one size, in its turn. The short run takes another part of the fields for each filler.
  test.each(fillers.map((filler, at) => ({ filler, at })))('has short turns for texts of $filler', async (of) => {
    const cases = filledCases(of.filler).filter(isChosen).slice(of.at);
    expect(await allFaultsOf(partOf(cases, 2 * fillers.length), [1 / 4])).toEqual([]);
  });

  test('leaves no memory behind', async () => {
    const round = async () => {
      for (const growing of isWhole ? named : named.slice(0, 12)) await run(growing, Math.floor(growing.full / 8));
      return server.usedMb();
    };
    const before = await round();
    expect(await round()).toBeLessThan(before + mostUsedGrowthMb);
  });
});
