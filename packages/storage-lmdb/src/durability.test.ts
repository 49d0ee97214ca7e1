import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Revision } from '@kapstan/api';
import { afterAll, expect, it } from 'vitest';
import { type LmdbEngineOptions, openLmdbEngine } from './index.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-durability-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

it("leaves a whole store when the engine is closed, with either value, and each opens the other's store", async () => {
  for (const [index, durability] of (['process', 'disk', 'process'] as const).entries()) {
    await using engine = await openLmdbEngine({ dataDir, durability });
    expect(await engine.stats()).toMatchObject({ keys: index, revision: 1 + index });
    const change = { type: 'put', value: Buffer.from('a') } as const;
    await engine.commit({ key: `/${index}`, expectedRevision: 0 as Revision, change });
    expect((await engine.check()).problems).toEqual([]);
  }
});

it('is refused when it is another word', async () => {
  const options = { dataDir, durability: 'none' } as unknown as LmdbEngineOptions;
  await expect(openLmdbEngine(options)).rejects.toThrow(
    new TypeError("durability must be 'disk' or 'process', not \"none\""),
  );
});
