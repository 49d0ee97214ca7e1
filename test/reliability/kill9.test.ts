// I10 and I11 under kill -9: no acknowledged write is lost, no revision is issued twice. The kernel survives a killed
// process, so this does not test loss of power; see docs/decisions/0002-lmdb-layout.md.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type LmdbEngine, openLmdbEngine } from '@kapstan/storage-lmdb';
import { expect, test } from 'vitest';
import { randomOf } from './write-history.ts';

const writer = fileURLToPath(new URL('kill9-writer.mjs', import.meta.url));
const leastRounds = 50;
const seed = Number(process.env.KAPSTAN_SEED ?? Math.floor(Math.random() * 1e9));
const leastCreates = 10_000;

interface Round {
  /** Newest revision when the writer opened the store. */
  readonly opened: number;
  readonly acknowledged: ReadonlyMap<string, number>;
  readonly refused: number;
}

/** Lets a writer run until it has acknowledged this many creates, then kills it. */
async function writeAndKill(dataDir: string, round: number, killAfter: number): Promise<Round> {
  const child = spawn(process.execPath, [writer, dataDir, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_, signal) => resolve(signal)));
  const acknowledged = new Map<string, number>();
  let opened = -1;
  let refused = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [what, first, second] = line.split(' ');
    if (what === 'opened') opened = Number(first);
    else if (what === 'acknowledged' && second) acknowledged.set(first!, Number(second));
    else if (what === 'refused') refused += 1;
    if (acknowledged.size >= killAfter) child.kill('SIGKILL');
  }
  expect(await exited).toBe('SIGKILL');
  return { opened, acknowledged, refused };
}

async function readAll(engine: LmdbEngine): Promise<Map<string, number>> {
  const { kvs } = await engine.range({ start: '/registry/', end: '/registry0' });
  return new Map(kvs.map((kv) => [kv.key, kv.modRevision]));
}

test('kill -9 loses no acknowledged create and brings no revision back', { timeout: 120_000 }, async () => {
  console.log(`KAPSTAN_SEED=${seed}`);
  const random = randomOf(seed);
  const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-kill9-'));
  const acknowledged = new Map<string, number>();
  const revisions = new Set<number>();
  let rounds = 0;
  let unacknowledged = 0;
  let newest = 0;
  while (rounds < leastRounds || acknowledged.size < leastCreates) {
    rounds += 1;
    const round = await writeAndKill(dataDir, rounds, 1 + Math.floor(random() * 420));
    expect(round.refused).toBe(0);
    expect(round.opened).toBeGreaterThanOrEqual(newest);
    for (const [key, revision] of round.acknowledged) {
      expect(revisions.has(revision), `revision ${revision} was issued twice`).toBe(false);
      revisions.add(revision);
      acknowledged.set(key, revision);
    }

    await using engine = await openLmdbEngine({ dataDir });
    expect((await engine.check()).problems).toEqual([]);
    const stored = await readAll(engine);
    const lost = [...acknowledged].filter(([key, revision]) => stored.get(key) !== revision);
    expect(lost, 'acknowledged creates that are lost or changed').toEqual([]);
    expect(new Set(stored.values()).size, 'keys share a revision').toBe(stored.size);
    unacknowledged = stored.size - acknowledged.size;
    newest = await engine.currentRevision();
    expect(newest).toBeGreaterThanOrEqual(Math.max(...stored.values()));
  }
  rmSync(dataDir, { recursive: true });
  console.log(
    `kill -9: ${rounds} rounds, ${acknowledged.size} creates acknowledged, 0 lost, ` +
      `${unacknowledged} stored but not yet acknowledged when killed, newest revision ${newest}`,
  );
});
