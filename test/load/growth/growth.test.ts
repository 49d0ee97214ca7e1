// Growth: no request holds the loop. Each case of cases/ is sent in sizes n, 2n and 4n to a real server: CPU of the main thread
// grows by less than n^1.2, no turn is long, answers are bounded, and the memory comes back. CPU is counted by the kernel, so a busy
// machine changes little of it; what is over a bound is measured again, and the least of all runs counts.
//   npm run test:growth                     up to what a request may have, with a table
//   npm run test:growth -- --grep volumes   the cases with that in their names
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { growthCases } from './cases/index.ts';
import type { GrowthCase } from './growth-case.ts';
import { type Answer, type Cost, GrowthServer } from './growth-server.ts';

const isWhole = process.env.KAPSTAN_GROWTH === 'whole';
/** Part of `full` that 4n is in the short run. */
const shortPart = 1 / 8;
const mostExponent = 1.2;
/** Below it the noise of collections and compilations is larger than what grows, in milliseconds. */
const leastCpuMs = isWhole ? 40 : 20;
/** The goal for a turn of any request. The short run has an eighth of its work, and may have no longer turns than a slice has. */
const mostTurnMs = isWhole ? 50 : 30;
const mostAnswerBytes = 8 * 1024 * 1024;
const mostRuns = 4;
/** What caches may keep (parsed schemas, code). */
const mostHeapGrowthMb = 64;

const mergePatch = 'application/merge-patch+json';

let server: GrowthServer;
let heapMbAtStart = 0;
const table: Record<string, unknown>[] = [];

beforeAll(async () => {
  server = await GrowthServer.start();
  for (const growing of growthCases.slice(0, 3)) await run(growing, 16);
  heapMbAtStart = await server.heapMb();
});

afterAll(async () => {
  await server?.close();
  if (isWhole) console.table(table);
});

async function clear({ made = [] }: GrowthCase): Promise<void> {
  for (const path of made) {
    const { start } = await server.send({ method: 'DELETE', path: `${path}?gracePeriodSeconds=0` });
    if (start.includes('"kind":"Status"')) continue;
    await server.send({ method: 'PATCH', path, contentType: mergePatch, body: { metadata: { finalizers: null } } });
  }
}

async function run(growing: GrowthCase, n: number): Promise<{ readonly answer: Answer; readonly cost: Cost }> {
  await clear(growing);
  for (const sent of growing.prepare?.(n) ?? []) {
    const { status, start } = await server.send(sent);
    if (status >= 300) throw new Error(`preparing ${growing.name}: ${status} ${start}`);
  }
  const measured = await server.measure(growing.request(n));
  await clear(growing);
  return measured;
}

/** The least of several runs at one size: what is more than that came from elsewhere. */
class Size {
  readonly n: number;
  answer: Answer = { status: 0, bytes: 0, start: '' };
  cost: Cost = { cpuMs: Number.POSITIVE_INFINITY, turnMs: Number.POSITIVE_INFINITY };

  constructor(n: number) {
    this.n = n;
  }

  async measure(growing: GrowthCase): Promise<void> {
    const { answer, cost } = await run(growing, this.n);
    this.answer = answer;
    const { cpuMs, turnMs } = this.cost;
    this.cost = { cpuMs: Math.min(cpuMs, cost.cpuMs), turnMs: Math.min(turnMs, cost.turnMs) };
  }
}

function exponentOf(small: Size, large: Size): number {
  if (large.cost.cpuMs < leastCpuMs) return 0;
  return Math.log(large.cost.cpuMs / small.cost.cpuMs) / Math.log(large.n / small.n);
}

describe('cost of a request', () => {
  test.each(growthCases)('grows with its size, in short turns: $name', async (growing) => {
    const full = Math.max(4, Math.floor(growing.full * (isWhole ? 1 : shortPart)));
    const sizes = [new Size(Math.floor(full / 4)), new Size(Math.floor(full / 2)), new Size(full)] as const;
    const [quarter, half, whole] = sizes;
    const isWithin = () =>
      whole.cost.turnMs <= mostTurnMs && Math.min(exponentOf(quarter, whole), exponentOf(half, whole)) < mostExponent;
    for (let runs = 0; runs < mostRuns && !isWithin(); runs++) for (const size of sizes) await size.measure(growing);
    const exponent = Math.min(exponentOf(quarter, whole), exponentOf(half, whole));
    const { answer, cost } = whole;
    table.push({
      case: growing.name,
      n: whole.n,
      status: answer.status,
      KB: Math.round(answer.bytes / 1024),
      'CPU n ms': Math.round(quarter.cost.cpuMs),
      'CPU 4n ms': Math.round(cost.cpuMs),
      exponent: Number(exponent.toFixed(2)),
      'turn ms': Math.round(cost.turnMs),
    });
    if (growing.codes === undefined) expect(answer.status, answer.start).toBeLessThan(500);
    else expect(growing.codes, `${answer.status} ${answer.start}`).toContain(answer.status);
    expect(answer.bytes).toBeLessThan(mostAnswerBytes);
    expect(exponent, 'exponent of the growth of CPU').toBeLessThan(mostExponent);
    expect(cost.turnMs, 'longest turn in ms of CPU').toBeLessThanOrEqual(mostTurnMs);
  });

  test('leaves no memory behind', async () => {
    expect(await server.heapMb()).toBeLessThan(heapMbAtStart + mostHeapGrowthMb);
  });
});
