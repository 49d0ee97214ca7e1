// Simulates power loss. A workload runs under strace; the data file, as a crash at any moment could leave it, is opened
// and checked against what had been acknowledged by then (I10). The seed is printed and can be set with KAPSTAN_SEED.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requireBuilt } from '../../kapstan/built-packages.ts';
import { findTool } from '../../kapstan/find-tool.ts';
import { randomOf } from '../write-history.ts';
import { type CrashImage, crashImages } from './crash-images.ts';
import { type FoundStore, StoreReader } from './store-reader.ts';
import { type SystemCall, traceSystemCalls } from './system-calls.ts';

const strace = findTool({ command: 'strace', debianPackage: 'strace' });
const writer = fileURLToPath(new URL('crash-writer.mjs', import.meta.url));
const seed = Number(process.env.KAPSTAN_SEED ?? Math.floor(Math.random() * 1e9));
const imageCount = 240;
const markName = 'new-store.tmp';
let folder = '';

// The writer runs the built packages.
beforeAll(() => requireBuilt(['api', 'storage', 'storage-lmdb']));

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'kapstan-crash-')));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(durability: 'sync' | 'noSync'): Promise<SystemCall[]> {
  const home = join(folder, durability);
  const dataDir = join(home, 'data');
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const saidFile = join(home, 'said.txt');
  const command = [process.execPath, writer, dataDir, saidFile, String(seed), durability] as const;
  return traceSystemCalls({
    command,
    dataFile: join(dataDir, 'data.mdb'),
    markFile: join(dataDir, markName),
    saidFile,
    traceFile: join(home, 'trace.txt'),
  });
}

async function problemsOf(
  calls: readonly SystemCall[],
): Promise<{ readonly images: number; readonly problems: string[] }> {
  using reader = new StoreReader();
  let images = 0;
  const problems: string[] = [];
  for (const image of crashImages(calls, imageCount, randomOf(seed))) {
    images += 1;
    const dataDir = mkdtempSync(join(folder, 'image-'));
    writeFileSync(join(dataDir, 'data.mdb'), image.bytes);
    if (!image.isMade) writeFileSync(join(dataDir, markName), '');
    const found = await reader.read(dataDir);
    rmSync(dataDir, { recursive: true });
    const wrong = found === 'died' ? ['the process died'] : [...found.problems, ...lostIn(found, image)];
    if (wrong.length > 0) problems.push(`${image.name}: ${wrong.join('; ')}`);
  }
  return { images, problems };
}

/**
 * Returns acknowledged writes that are missing. Each writer may have one commit that is there without having been
 * acknowledged.
 */
function lostIn({ states, revision }: FoundStore, { said }: CrashImage): string[] {
  const stored = new Map(states.map((state) => [state.key, state]));
  const last = new Map(said.map((line) => [line.split(' ')[1] as string, line.trim()]));
  const untold = new Set<string>();
  const problems = states.filter((state) => !isWhole(state)).map(({ key }) => `${key} is torn`);
  for (const key of new Set([...last.keys(), ...stored.keys()])) {
    const [type, , count, at = '0'] = last.get(key)?.split(' ') ?? [];
    const state = stored.get(key);
    if (Number(at) > revision) problems.push(`${last.get(key)} is beyond ${revision}`);
    const isAsTold = type === 'put' ? state?.modRevision === Number(at) : state === undefined;
    if (isAsTold) {
      if (state !== undefined && state.value.split(' ')[1] !== count)
        problems.push(`${last.get(key)} has another value`);
      continue;
    }
    const writerOfKey = key.split('-')[0] as string;
    const isLater = (state?.modRevision ?? revision) > Number(at);
    if (!isLater || untold.has(writerOfKey)) problems.push(`${last.get(key) ?? key} is not there`);
    untold.add(writerOfKey);
  }
  return problems;
}

/** Returns whether the value is as crash-writer.mjs wrote it. */
function isWhole({ key, value }: FoundStore['states'][number]): boolean {
  const [name, , size, rest] = value.split(' ');
  return name === key && rest === 'x'.repeat(Number(size));
}

describe('the data file after a crash', { timeout: 180_000 }, () => {
  if (strace === undefined) {
    it('holds what was acknowledged', ({ skip }) => skip('no strace here; run: apt-get install -y strace'));
    return;
  }

  it('holds every write that was acknowledged, whatever part of the unsynced pages is there', async () => {
    const { images, problems } = await problemsOf(await run('sync'));
    console.log(`seed ${seed}: ${images} images, ${problems.length} with problems`);
    expect(images).toBeGreaterThanOrEqual(200);
    expect(problems, `seed ${seed}`).toEqual([]);
  });

  it('loses writes with an engine that does not wait for the disk, which this test notices', async () => {
    const { images, problems } = await problemsOf(await run('noSync'));
    console.log(`seed ${seed}: without sync ${problems.length} of ${images} images have problems`);
    expect(problems.length).toBeGreaterThan(images / 10);
  });
});
