import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogFields, type Revision, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LmdbEngine, openLmdbEngine, restoreLmdbBackup } from './index.ts';

let folder: string;
let warnings: LogFields[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-private-'));
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const openEngine = (dataDir: string): Promise<LmdbEngine> =>
  openLmdbEngine({
    dataDir,
    clock: new VirtualClock(),
    logger: { ...silentLogger, warn: (_, fields) => warnings.push(fields ?? {}) },
  });

const modeOf = (path: string): number => statSync(path).mode & 0o777;
const filesOf = (directory: string): [string, number][] =>
  readdirSync(directory)
    .filter((name) => name.endsWith('.mdb'))
    .map((name) => [name, modeOf(join(directory, name))]);
const forOwnerAlone = [
  ['data.mdb', 0o600],
  ['lock.mdb', 0o600],
];

function makeOpen(directory: string, mode: number): void {
  mkdirSync(directory);
  chmodSync(directory, mode);
}

describe.skipIf(process.platform === 'win32')('the files of a store', () => {
  it('are for their owner alone in a directory that is so too, without a warning', async () => {
    const dataDir = join(folder, 'data');
    await (await openEngine(dataDir)).close();
    expect([modeOf(dataDir), filesOf(dataDir), warnings]).toEqual([0o700, forOwnerAlone, []]);
  });

  it.each([0o755, 0o770, 0o701])(
    'are for their owner alone in a directory of mode %o, which keeps its mode and causes a warning each time',
    async (mode) => {
      const dataDir = join(folder, 'data');
      makeOpen(dataDir, mode);
      for (const count of [1, 2]) {
        await (await openEngine(dataDir)).close();
        expect(modeOf(dataDir)).toBe(mode);
        expect(filesOf(dataDir)).toEqual(forOwnerAlone);
        expect(warnings.length).toBe(count);
      }
      expect(warnings[0]).toEqual({ directory: dataDir, mode: `0${mode.toString(8)}`, recommended: '0700' });
    },
  );

  it('are taken away from others when a former version left them open', async () => {
    const dataDir = join(folder, 'data');
    await (await openEngine(dataDir)).close();
    chmodSync(join(dataDir, 'data.mdb'), 0o644);
    await (await openEngine(dataDir)).close();
    expect(filesOf(dataDir)).toEqual(forOwnerAlone);
  });

  it('stay so in a backup and in what is restored from one that is open', async () => {
    const [backupDir, dataDir] = [join(folder, 'backup'), join(folder, 'restored')];
    makeOpen(backupDir, 0o755);
    const engine = await openEngine(join(folder, 'data'));
    const change = { type: 'put', value: Buffer.from('secret') } as const;
    await engine.commit({ key: '/a', expectedRevision: 0 as Revision, change });
    await engine.backup(backupDir);
    await engine.close();
    expect(filesOf(backupDir)).toEqual([['data.mdb', 0o600]]);
    chmodSync(join(backupDir, 'data.mdb'), 0o644);
    await restoreLmdbBackup({ backupDir, dataDir });
    expect(filesOf(dataDir)).toEqual([['data.mdb', 0o600]]);
  });
});
