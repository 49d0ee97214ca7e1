// A write that the kernel refuses is final: no reader sees a revision that is not on disk, everything is refused from
// then on, and the store opens again with everything that was acknowledged.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { beforeAll, expect, test } from 'vitest';
import { requireBuilt } from '../kapstan/built-packages.ts';

const writer = fileURLToPath(new URL('failed-write-writer.mjs', import.meta.url));

// The writer runs the built packages.
beforeAll(() => requireBuilt(['api', 'storage', 'storage-lmdb']));

test.skipIf(process.platform === 'win32')('a failed write stops the engine and loses nothing', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-failed-'));
  // 1000 blocks of 512 or 1024 bytes, depending on the shell. Node ignores SIGXFSZ, so the write fails with EFBIG or is
  // partial.
  const command = 'ulimit -f 1000 && exec "$0" "$@"';
  const child = spawn('sh', ['-c', command, process.execPath, writer, dataDir], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect(code, output).toBe(7);
  const told = JSON.parse(output);

  expect(told.failures.length).toBeGreaterThan(0);
  for (const failure of told.failures)
    expect(failure).toEqual({ code: 'Unreachable', maybeApplied: true, hasCause: true });
  expect(told.refused).toEqual(Array(4).fill({ code: 'Closed', maybeApplied: false, hasCause: true }));
  expect(told.watchError).toEqual({ code: 'Closed', maybeApplied: false, hasCause: true });
  expect(told.lastEvent).toBe(told.last);
  expect(told.fatal).toHaveLength(1);

  await using engine = await openLmdbEngine({ dataDir });
  expect((await engine.check()).problems).toEqual([]);
  expect(await engine.currentRevision()).toBe(told.last);
  expect(await engine.count({ start: '/k/', end: '/k0' })).toBe(told.last - 1);
  await engine.close();
  rmSync(dataDir, { recursive: true });
});
