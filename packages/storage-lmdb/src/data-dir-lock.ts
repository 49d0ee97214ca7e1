// Lets one process at a time use a data directory, by a listening socket in it. The kernel closes the socket when its
// process ends, however that happens, so neither a dead process nor another one with its id holds the lock. Taken by
// lmdb-engine.ts before LMDB opens.
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { type Clock, systemClock } from '@kapstan/api';
import { StorageError } from '@kapstan/storage';

const socketName = /^lock\.(\d+)\.sock$/;
/** Longest path of a Unix socket with some reserve: the limit is 107 bytes on Linux, 103 on macOS. */
const maxSocketPath = 100;
const attempts = 5;
/**
 * Time to answer. A listening process answers at once unless it is stopped or hangs; even then it holds the directory.
 */
const answerMs = 2_000;

/**
 * The lock is the answering socket with the highest number. A newcomer listens under a number higher than all present
 * ones, then looks again. If there is a higher one, or a lower one that answers, it gives up. Binding is exclusive, so
 * two newcomers never share a number. Each looks only after it listens, so at least one of any two sees the other.
 */
export class DataDirLock {
  readonly #server: Server;
  readonly #release: () => void;

  private constructor(server: Server, release: () => void) {
    this.#server = server;
    this.#release = release;
  }

  /**
   * Rejects with `Unreachable` when another process holds the directory. The error names that process if it answers
   * within two seconds.
   */
  static async acquire(dataDir: string, clock: Clock = systemClock): Promise<DataDirLock> {
    const folder = new SocketFolder(dataDir, clock);
    try {
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        const server = await tryAcquire(folder);
        if (server !== undefined) return new DataDirLock(server, () => folder.close());
      }
      throw held(dataDir, '');
    } catch (error) {
      folder.close();
      throw error;
    }
  }

  async release(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#release();
  }
}

async function tryAcquire(folder: SocketFolder): Promise<Server | undefined> {
  const before = folder.numbers();
  for (const number of before) await refuseIfHeld(folder, number);
  const mine = Math.max(0, ...before) + 1;
  const server = await listen(folder.path(mine));
  if (server === undefined) return undefined;
  try {
    const others = folder.numbers().filter((number) => number !== mine);
    for (const number of others) await refuseIfHeld(folder, number);
    if (others.some((number) => number > mine)) throw held(folder.dataDir, '');
    for (const number of others) rmSync(folder.path(number), { force: true });
    return server;
  } catch (error) {
    await new Promise<void>((resolve) => server.close(() => resolve()));
    throw error;
  }
}

/** Listens on the path. Resolves to undefined when another process has just taken it. */
function listen(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(String(process.pid));
    socket.destroySoon();
  });
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(path, () => resolve(server.unref()));
  });
}

async function refuseIfHeld(folder: SocketFolder, number: number): Promise<void> {
  const answer = await askHolder(folder.path(number), folder.clock);
  if (answer !== undefined) throw held(folder.dataDir, answer);
}

/**
 * Resolves to the process id that the socket answers with, "" when there is no answer in time, undefined when nobody
 * listens.
 */
function askHolder(path: string, clock: Clock): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      answer += text;
    });
    const cancelTimer = clock.setTimer(() => socket.destroy(), answerMs);
    socket.on('end', () => resolve(answer));
    socket.on('close', () => {
      cancelTimer();
      resolve(answer);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(undefined);
      // EAGAIN: the queue of callers that wait for its answer is full.
      else if (error.code === 'ECONNRESET' || error.code === 'EAGAIN') resolve(answer);
      else reject(error);
    });
  });
}

function held(dataDir: string, pid: string): StorageError {
  const holder = pid === '' ? 'another process, which did not say which one it is' : `process ${pid}`;
  return new StorageError({ code: 'Unreachable', message: `data directory ${dataDir} is in use by ${holder}` });
}

/** The sockets of a data directory, including one whose path is too long for a socket address. */
class SocketFolder {
  readonly dataDir: string;
  readonly clock: Clock;
  #descriptor: number | undefined;

  constructor(dataDir: string, clock: Clock) {
    this.dataDir = dataDir;
    this.clock = clock;
  }

  numbers(): number[] {
    return readdirSync(this.dataDir).flatMap((name) => {
      const match = socketName.exec(name);
      return match ? [Number(match[1])] : [];
    });
  }

  path(number: number): string {
    const name = `lock.${number}.sock`;
    const path = join(this.dataDir, name);
    if (Buffer.byteLength(path) <= maxSocketPath) return path;
    if (process.platform !== 'linux') {
      throw new StorageError({
        code: 'Unreachable',
        message: `the path of data directory ${this.dataDir} is too long`,
      });
    }
    this.#descriptor ??= openSync(this.dataDir, 'r');
    return `/proc/self/fd/${this.#descriptor}/${name}`;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
