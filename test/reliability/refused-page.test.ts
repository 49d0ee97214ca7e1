// The kernel refuses one write of the data file: a page without room costs one commit, a header ends the store. strace
// injects the refusal, so that any write can be chosen.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { beforeAll, expect, test } from 'vitest';
import { requireBuilt } from '../kapstan/built-packages.ts';
import { findTool } from '../kapstan/find-tool.ts';

interface Told {
  readonly outcomes: readonly {
    readonly key: string;
    readonly revision?: number;
    readonly code?: string;
    readonly maybeApplied?: boolean;
  }[];
  readonly hasFailed: boolean;
}

const strace = findTool({ command: 'strace', debianPackage: 'strace' });
const writer = fileURLToPath(new URL('refused-page-writer.mjs', import.meta.url));

// The writer runs the built packages.
beforeAll(() => requireBuilt(['api', 'storage', 'storage-lmdb']));
// Earlier writes belong to the opening of the store, which would then fail.
const refusedWrites = [11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

/** Returns undefined when the store could not be opened. */
function writeWithRefusal(dataDir: string, refused: number): Told | undefined {
  const inject = `inject=pwrite64:error=ENOSPC:when=${refused}`;
  const filter = ['-f', '-o', '/dev/null', '-P', join(dataDir, 'data.mdb'), '-e', 'trace=pwrite64', '-e', inject];
  // Use one thread, because strace counts the writes of each thread.
  const env = { ...process.env, UV_THREADPOOL_SIZE: '1' };
  const run = spawnSync('strace', [...filter, process.execPath, writer, dataDir], { env, timeout: 20_000 });
  expect(run.signal, 'the writer hung').toBeNull();
  return run.status === 0 ? (JSON.parse(run.stdout.toString()) as Told) : undefined;
}

test('a page that finds no room costs one commit; a header that cannot be written ends the store', async ({ skip }) => {
  if (strace === undefined) return skip('no strace here; run: apt-get install -y strace');
  let [survived, ended] = [0, 0];
  for (const refused of refusedWrites) {
    const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-refused-page-'));
    const told = writeWithRefusal(dataDir, refused);
    if (told === undefined) continue;
    const failures = told.outcomes.filter(({ revision }) => revision === undefined);
    const acknowledged = told.outcomes.filter(({ revision }) => revision !== undefined);
    if (told.hasFailed) {
      ended += 1;
      expect(failures[0]).toMatchObject({ code: 'Unreachable', maybeApplied: true });
      for (const later of failures.slice(1)) expect(later).toMatchObject({ code: 'Closed', maybeApplied: false });
    } else {
      survived += 1;
      expect(failures.map(({ code, maybeApplied }) => ({ code, maybeApplied }))).toEqual([
        { code: 'Full', maybeApplied: false },
      ]);
    }
    const engine = await openLmdbEngine({ dataDir });
    expect((await engine.check()).problems).toEqual([]);
    const { kvs } = await engine.range({ start: '/k/', end: '/k0' });
    const stored = new Map(kvs.map(({ key, modRevision }) => [key, modRevision]));
    for (const { key, revision } of acknowledged) expect(stored.get(key), key).toBe(revision);
    for (const { key, code } of failures) if (code !== 'Unreachable') expect(stored.has(key), key).toBe(false);
    await engine.close();
    rmSync(dataDir, { recursive: true });
  }
  expect(survived).toBeGreaterThan(0);
  expect(ended).toBeGreaterThan(0);
});
