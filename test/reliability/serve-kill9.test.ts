// I10, I11 and I3 for the whole: `kapstan serve` is killed with signal 9 in the middle of 10,000 creates over HTTPS and
// started again on its directory. kill9.test.ts does the same to the engine alone, many times faster.
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DeepReadonly, isExpired, isStatusError, type ObjectMeta, type WatchEvent } from '@kapstan/api';
import { Client } from '@kapstan/client';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';
import { randomOf } from './write-history.ts';

const creates = 10_000;
const kills = 6;
const writers = 8;
const namespace = 'default';
/**
 * Set KAPSTAN_SEED to repeat a run: the server is killed at the same points, but different requests may be under way.
 */
const seed = Number(process.env.KAPSTAN_SEED ?? randomInt(1_000_000));

let dataDir: string;
let server: ServeProcess;
let client: Client;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-serve-kill9-'));
});
afterEach(async () => {
  await client.close();
  await server.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(from: 'cache' | 'store'): Promise<void> {
  // There are no control loops, so that only the test writes objects.
  const flags = ['--control-loops=none', `--watch-cache=${from === 'cache'}`];
  server = await startServeProcess({ dataDir, flags });
  client = new Client({ server: server.url, token: server.adminToken, tls: { caFile: server.caFile }, proxyUrl: '' });
}

async function kill(): Promise<void> {
  server.process.kill('SIGKILL');
  await server.close();
  await client.close();
}

/** Records the acknowledged writes, and the versions that any client has seen. */
class Ledger {
  readonly acknowledged = new Map<string, string>();
  readonly problems: string[] = [];
  readonly #owners = new Map<string, string>();
  #newest = 0n;
  #next = 0;

  nextName(): string {
    return `object-${String(this.#next++).padStart(6, '0')}`;
  }

  get count(): number {
    return this.acknowledged.size;
  }

  acknowledge({ name = '', resourceVersion = '' }: ObjectMeta, newestBefore: bigint): void {
    if (BigInt(resourceVersion) <= newestBefore) this.problems.push(`version ${resourceVersion} was issued again`);
    this.acknowledged.set(name, resourceVersion);
    this.see(name, resourceVersion);
  }

  /** Records a version. It belongs to one object forever (I11). */
  see(name: string, resourceVersion: string): void {
    const owner = this.#owners.get(resourceVersion) ?? name;
    if (owner !== name) this.problems.push(`version ${resourceVersion} is that of ${owner} and of ${name}`);
    this.#owners.set(resourceVersion, name);
    if (BigInt(resourceVersion) > this.#newest) this.#newest = BigInt(resourceVersion);
  }

  get newest(): bigint {
    return this.#newest;
  }
}

const contentOf = (name: string): Record<string, string> => ({ name, payload: name.repeat(10) });

/** Runs several writers until this many creates are acknowledged in total, then kills the server under them. */
async function writeAndKill(ledger: Ledger, until: number): Promise<void> {
  const newestBefore = ledger.newest;
  let isKilled = false;
  const write = async (): Promise<void> => {
    while (!isKilled) {
      const name = ledger.nextName();
      try {
        const { metadata = {} } = await client.create(ConfigMap, {
          metadata: { name, namespace },
          data: contentOf(name),
        });
        ledger.acknowledge(metadata, newestBefore);
      } catch (error) {
        // Without an answer the outcome is unknown, but a running server refuses none of these writes.
        if (!isKilled || isStatusError(error)) throw error;
      }
      if (!isKilled && ledger.count >= until) {
        isKilled = true;
        server.process.kill('SIGKILL');
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  await kill();
}

/** Checks that each acknowledged create is stored as acknowledged. Resolves to the list's version and names. */
async function checkStored(ledger: Ledger): Promise<{ readonly version: string; readonly names: ReadonlySet<string> }> {
  const names = new Set<string>();
  let version = '';
  let continueToken: string | undefined;
  do {
    const page = await client.listPage(ConfigMap, {
      namespace,
      limit: 2000,
      continue: continueToken,
    });
    for (const { metadata, data } of page.items) {
      const { name = '', resourceVersion = '' } = metadata ?? {};
      expect(names.has(name), `${name} is there twice`).toBe(false);
      names.add(name);
      ledger.see(name, resourceVersion);
      expect(data).toEqual(contentOf(name));
      expect(resourceVersion, name).toBe(ledger.acknowledged.get(name) ?? resourceVersion);
    }
    version = page.resourceVersion;
    continueToken = page.continue;
  } while (continueToken !== undefined && continueToken !== '');
  const lost = [...ledger.acknowledged.keys()].filter((name) => !names.has(name));
  expect(lost, 'acknowledged creates that are lost').toEqual([]);
  expect(BigInt(version)).toBeGreaterThanOrEqual(ledger.newest);
  return { version, names };
}

/** A watch that resumes after each kill from its last version, and sees every object once (I3). */
class ResumedWatch {
  readonly #seen = new Map<string, string>();
  readonly problems: string[] = [];
  #version: string;

  constructor(version: string) {
    this.#version = version;
  }

  /** Reads until it has seen these objects. Rejects with 410 when the server cannot resume from its version. */
  async catchUp(wanted: ReadonlySet<string>): Promise<void> {
    const signal = AbortSignal.timeout(20_000);
    const events = client.watchEvents(ConfigMap, { namespace, resourceVersion: this.#version, signal });
    let left = [...wanted].filter((name) => !this.#seen.has(name)).length;
    for await (const event of events as AsyncIterable<WatchEvent<ConfigMap>>) {
      if (event.type !== 'ADDED') {
        this.problems.push(`${event.type} where objects are only created`);
        continue;
      }
      this.#note(event.object.metadata ?? {});
      if (--left === 0) return;
    }
    throw new Error(`the watch ended with ${left} objects missing`);
  }

  #note({ name = '', resourceVersion = '' }: DeepReadonly<ObjectMeta>): void {
    const isRising = BigInt(resourceVersion) > BigInt(this.#version);
    if (!isRising) this.problems.push(`version ${resourceVersion} of ${name} came after ${this.#version}`);
    if (this.#seen.has(name)) this.problems.push(`${name} was told twice`);
    this.#version = resourceVersion;
    this.#seen.set(name, resourceVersion);
  }

  versionOf(name: string): string | undefined {
    return this.#seen.get(name);
  }
}

it('loses no acknowledged create to kill -9 and issues no version twice', {
  timeout: 120_000,
}, async () => {
  console.log(`KAPSTAN_SEED=${seed}`);
  const random = randomOf(seed);
  const points = Array.from({ length: kills - 1 }, () => 1 + Math.floor(random() * (creates - 1))).sort(
    (a, b) => a - b,
  );
  const ledger = new Ledger();
  await start('cache');
  const watch = new ResumedWatch((await checkStored(ledger)).version);
  for (const [round, point] of [...points, creates].entries()) {
    await writeAndKill(ledger, point);
    // A new process's cache knows nothing from before its start and reports this, as kube-apiserver's does; the store
    // knows it.
    const from = round % 2 === 0 ? 'cache' : 'store';
    await start(from);
    const { names } = await checkStored(ledger);
    if (from === 'store') await watch.catchUp(names);
    else await expect(watch.catchUp(names)).rejects.toSatisfy(isExpired);
  }
  expect(ledger.count).toBeGreaterThanOrEqual(creates);
  expect(ledger.problems).toEqual([]);
  expect(watch.problems).toEqual([]);
  for (const [name, version] of ledger.acknowledged) expect(watch.versionOf(name)).toBe(version);
  console.log(`kill -9 of kapstan serve: ${kills} kills at ${points.join(', ')}, ${ledger.count} acknowledged`);
});
