import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { isStorageError } from '@kapstan/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataDirLock } from './data-dir-lock.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const sockets = () => readdirSync(folder).filter((name) => name.endsWith('.sock'));

/** Starts another process that behaves like a holder of the lock. */
async function foreignHolder(number: number): Promise<ChildProcess> {
  const program = `require('net').createServer((s) => s.end(String(process.pid))).listen(process.argv[1], () => console.log('ready'))`;
  const child = spawn(process.execPath, ['-e', program, join(folder, `lock.${number}.sock`)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout!, 'data');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

describe('DataDirLock', () => {
  it('is held by one at a time and free again after release, with nothing left behind', async () => {
    const first = await DataDirLock.acquire(folder);
    const refused = DataDirLock.acquire(folder);
    await expect(refused).rejects.toThrow(`data directory ${folder} is in use by process ${process.pid}`);
    await expect(refused).rejects.toSatisfy((error) => isStorageError(error, 'Unreachable'));
    await first.release();
    expect(sockets()).toEqual([]);
    const second = await DataDirLock.acquire(folder);
    await second.release();
  });

  it('names the process that holds it, and is taken over once that was killed', async () => {
    const child = await foreignHolder(7);
    await expect(DataDirLock.acquire(folder)).rejects.toThrow(`in use by process ${child.pid}`);
    await kill(child);
    expect(sockets()).toEqual(['lock.7.sock']);
    const lock = await DataDirLock.acquire(folder);
    expect(sockets()).toEqual(['lock.8.sock']);
    await lock.release();
  });

  it('never goes to two of many that want it at once, even where dead processes left sockets', async () => {
    for (const number of [1, 2]) await kill(await foreignHolder(number));
    for (let round = 0; round < 10; round += 1) {
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => DataDirLock.acquire(folder)));
      const winners = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(winners.length).toBeLessThanOrEqual(1);
      for (const lock of winners) await lock.release();
    }
    await (await DataDirLock.acquire(folder)).release();
  });

  it('can be released while a caller keeps its connection open', async () => {
    const lock = await DataDirLock.acquire(folder);
    const socket = connect({ path: join(folder, sockets()[0]!), allowHalfOpen: true });
    await once(socket, 'data');
    await lock.release();
    socket.destroy();
    expect(existsSync(join(folder, 'lock.1.sock'))).toBe(false);
  });

  describe('with a holder that does not answer', () => {
    let holder: Server;
    let sockets: Socket[];
    const answering = async (begin: (socket: Socket) => void): Promise<VirtualClock> => {
      sockets = [];
      holder = createServer((socket) => {
        sockets.push(socket.on('error', () => socket.destroy()));
        begin(socket);
      });
      await new Promise<void>((resolve) => holder.listen(join(folder, 'lock.3.sock'), resolve));
      return new VirtualClock();
    };
    afterEach(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => holder.close(resolve));
    });

    it.each<[string, (socket: Socket) => void, string]>([
      ['says nothing, as one that is stopped', () => undefined, 'another process, which did not say which one it is'],
      ['does not hang up', (socket) => void socket.write('4711'), 'process 4711'],
      ['hangs up at once', (socket) => void socket.destroy(), 'another process, which did not say which one it is'],
    ])('gives up after two seconds and names the directory: it %s', async (_, begin, who) => {
      const clock = await answering(begin);
      let failure: unknown;
      const acquiring = DataDirLock.acquire(folder, clock).catch((error: unknown) => {
        failure = error;
      });
      while (sockets.length === 0) await settle();
      for (let turn = 0; turn < 20; turn += 1) await settle();
      if (clock.pendingTimers > 0) {
        await clock.advance(1_999);
        expect(failure).toBeUndefined();
        await clock.advance(1);
      }
      await acquiring;
      expect(isStorageError(failure, 'Unreachable')).toBe(true);
      expect(String(failure)).toContain(`data directory ${folder} is in use by ${who}`);
      expect(clock.pendingTimers).toBe(0);
    });
  });
});
