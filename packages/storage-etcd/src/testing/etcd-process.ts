// Real etcd servers for tests: finds or installs etcd, and runs it on free loopback ports in a temporary folder. Used
// by the tests of this package and of the packages above it.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { messageOf } from '@kapstan/api/internal';

const install = ['apt-get', 'install', '-y', 'etcd-server'] as const;

/** Text that explains how to install a missing etcd. */
export const howToInstall: string = `set KAPSTAN_ETCD to an etcd binary, or run: ${install.join(' ')}`;

/**
 * Returns the path of an etcd binary: $KAPSTAN_ETCD, or one on PATH, or one installed now if CI or KAPSTAN_TEST_INSTALL
 * requests it.
 */
export function findEtcd(): string | undefined {
  const named = process.env.KAPSTAN_ETCD;
  if (named !== undefined && named !== '') {
    if (!existsSync(named)) throw new Error(`KAPSTAN_ETCD names no file: ${named}`);
    return named;
  }
  const found = onPath();
  if (found !== undefined || !mayInstall()) return found;
  try {
    // Without `apt-get update`, a fresh machine knows no packages.
    for (const args of [['update', '-q'], install.slice(1)]) {
      execFileSync(install[0], args, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
    }
  } catch (error) {
    // etcd is not available here, so the tests skip and explain how to get it.
    process.emitWarning(`etcd could not be installed: ${messageOf(error)}`);
  }
  return onPath();
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, 'etcd')).find((file) => existsSync(file));
}

function mayInstall(): boolean {
  const isAsked = process.env.CI === 'true' || process.env.KAPSTAN_TEST_INSTALL === '1';
  return isAsked && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
}

/** One member of a cluster, or a cluster of one. */
export interface EtcdProcess {
  readonly endpoint: string;
  readonly dataDir: string;
  /** Kills the member at once. Its data are kept until {@link remove}. */
  kill(): Promise<void>;
  /** Starts the member again on the same data and ports. */
  start(): void;
  /** Stops the process, like a machine that hangs; {@link thaw} continues it. */
  freeze(): void;
  thaw(): void;
  remove(): Promise<void>;
}

export interface EtcdProcessOptions {
  readonly binary: string;
  /** Number of members. Default 1. */
  readonly members?: number;
  /** With https the certificate is its own authority: fixtures/client/cert.pem in the data folder. Default "http". */
  readonly scheme?: 'http' | 'https';
  readonly flags?: readonly string[];
  /** Returns the port under which the other members reach this member's peer port. Default: that port. */
  readonly advertisePeer?: (peerPort: number, index: number) => Promise<number>;
}

/** The members of a cluster. */
export type EtcdMembers = readonly [EtcdProcess, ...EtcdProcess[]];

/** Starts a cluster. Its members are not ready yet; openEtcdEngine waits for them. */
export async function startEtcd(options: EtcdProcessOptions): Promise<EtcdMembers> {
  const { members = 1, scheme = 'http', advertisePeer = async (port) => port } = options;
  const ports = await freePorts(2 * members);
  const names = await Promise.all(
    Array.from({ length: members }, async (_, index) => {
      const [client = 0, peer = 0] = [ports[2 * index], ports[2 * index + 1]];
      return {
        name: `m${index}`,
        client: `${scheme}://127.0.0.1:${client}`,
        peer: `http://127.0.0.1:${peer}`,
        advertisedPeer: `http://127.0.0.1:${await advertisePeer(peer, index)}`,
      };
    }),
  );
  const cluster = names.map(({ name, advertisedPeer }) => `${name}=${advertisedPeer}`).join(',');
  const [first, ...rest] = names.map((member) => startMember(options, { ...member, cluster }));
  if (first === undefined) throw new TypeError('a cluster has at least one member');
  return [first, ...rest];
}

interface Member {
  readonly name: string;
  readonly client: string;
  readonly peer: string;
  readonly advertisedPeer: string;
  readonly cluster: string;
}

function startMember({ binary, scheme, flags = [] }: EtcdProcessOptions, member: Member): EtcdProcess {
  // Data are kept in memory where possible, because these tests do not test the disk.
  const root = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const folder = mkdtempSync(join(root, 'kapstan-etcd-'));
  const args = [
    `--name=${member.name}`,
    `--data-dir=${folder}`,
    `--listen-client-urls=${member.client}`,
    `--advertise-client-urls=${member.client}`,
    `--listen-peer-urls=${member.peer}`,
    `--initial-advertise-peer-urls=${member.advertisedPeer}`,
    `--initial-cluster=${member.cluster}`,
    '--heartbeat-interval=20',
    '--election-timeout=200',
    ...(scheme === 'https' ? ['--auto-tls'] : []),
    ...flags,
  ];
  const start = (): ChildProcess => spawn(binary, args, { stdio: 'ignore' });
  let child = start();
  // Kill etcd when the test process ends in the middle of a test.
  const onExit = (): void => void child.kill('SIGKILL');
  process.once('exit', onExit);
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  };
  return {
    endpoint: member.client,
    dataDir: folder,
    kill,
    start: () => {
      child = start();
    },
    freeze: () => {
      child.kill('SIGSTOP');
      waitUntilStopped(child.pid);
    },
    thaw: () => child.kill('SIGCONT'),
    remove: async () => {
      await kill();
      process.off('exit', onExit);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits, because the signal takes effect after kill returns: threads on another core may still answer. */
function waitUntilStopped(pid: number | undefined): void {
  const tasks = `/proc/${pid}/task`;
  const isStopped = (task: string): boolean =>
    readFileSync(join(tasks, task, 'stat'), 'utf8')
      .split(') ')[1]
      ?.startsWith('T') === true;
  for (let looks = 0; looks < 10_000 && existsSync(tasks); looks++) {
    if (readdirSync(tasks).every(isStopped)) return;
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
