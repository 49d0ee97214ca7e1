// Starts `kapstan serve` as its own process in a fresh data directory, for the wire, e2e and reliability tests.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { delay, systemClock } from '@kapstan/api';

const command = fileURLToPath(new URL('../../packages/control-plane/bin/kapstan.js', import.meta.url));
const readyWithinMs = 20_000;

export interface ServeOptions {
  /** Flags in addition to those of every test server. */
  readonly flags?: readonly string[];
  /** Groups of the user `alice`. Default none. */
  readonly userGroups?: readonly string[];
  /**
   * Data directory, which is kept after close, so that a second server can start on it. Default: a temporary directory,
   * removed on close.
   */
  readonly dataDir?: string;
  /** A file descriptor for standard error. Default: a pipe that is read. */
  readonly stderr?: number;
  /** Modules that the server's process loads first and that answer messages sent to it. Default none. */
  readonly imports?: readonly string[];
}

export interface ServeProcess {
  readonly url: string;
  readonly caFile: string;
  readonly adminToken: string;
  /** Token of the user `alice`, who has no rights. */
  readonly userToken: string;
  readonly kubeconfig: string;
  readonly dataDir: string;
  readonly pid: number;
  readonly process: ChildProcess;
  /** Returns the standard error output of the server so far. */
  stderr(): string;
  /** Sends SIGTERM and waits. Rejects when the exit code is not 0. */
  close(): Promise<void>;
}

/** Starts a server. Rejects with its output when it is not ready within 20 s. */
export async function startServeProcess(options: ServeOptions = {}): Promise<ServeProcess> {
  const work = await mkdtemp(join(tmpdir(), 'kapstan-test-'));
  const dataDir = options.dataDir ?? join(work, 'data');
  const files = {
    ready: join(work, 'ready.json'),
    tokens: join(work, 'tokens.csv'),
    kubeconfig: join(work, 'kubeconfig'),
  };
  const adminToken = 'admin-token-of-this-test';
  const userToken = 'alice-token-of-this-test';
  const groups = options.userGroups === undefined ? '' : `,"${options.userGroups.join(',')}"`;
  await writeFile(
    files.tokens,
    `${adminToken},admin,admin-uid,"system:masters"\n${userToken},alice,alice-uid${groups}\n`,
  );
  const flags = ['--secure-port=0', `--data-dir=${dataDir}`, `--token-auth-file=${files.tokens}`];
  flags.push(`--kubeconfig-out=${files.kubeconfig}`, `--ready-file=${files.ready}`, ...(options.flags ?? []));
  const { imports = [] } = options;
  const loaded = imports.flatMap((module) => ['--import', module]);
  const child = spawn(process.execPath, [...loaded, command, 'serve', ...flags], {
    stdio: ['ignore', 'ignore', options.stderr ?? 'pipe', imports.length > 0 ? 'ipc' : 'ignore'],
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = once(child, 'exit');
  const ready = await waitForReadyFile(files.ready, child).catch(async (error: Error) => {
    child.kill('SIGKILL');
    await rm(work, { recursive: true, force: true });
    throw new Error(`${error.message}\n${stderr}`, { cause: error });
  });
  return {
    ...ready,
    adminToken,
    userToken,
    kubeconfig: files.kubeconfig,
    dataDir,
    process: child,
    stderr: () => stderr,
    close: async () => {
      child.kill('SIGTERM');
      const [code] = (await exited) as [number | null];
      await rm(work, { recursive: true, force: true });
      if (code !== 0 && child.signalCode !== 'SIGKILL')
        throw new Error(`kapstan serve ended with status ${code}:\n${stderr}`);
    },
  };
}

interface ReadyFile {
  readonly url: string;
  readonly caFile: string;
  readonly pid: number;
}

async function waitForReadyFile(file: string, child: ChildProcess): Promise<ReadyFile> {
  const deadline = systemClock.monotonicNow() + readyWithinMs;
  while (systemClock.monotonicNow() < deadline) {
    if (child.exitCode !== null)
      throw new Error(`kapstan serve ended with status ${child.exitCode} before it was ready`);
    const text = await readFile(file, 'utf8').catch(() => '');
    if (text !== '') return JSON.parse(text) as ReadyFile;
    await delay(systemClock, 20);
  }
  throw new Error(`kapstan serve was not ready within ${readyWithinMs} ms`);
}
