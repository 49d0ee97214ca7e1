// Tests that a log that cannot be written neither ends the process nor delays it: a full disk, a reader that is gone,
// one that does not read. Lines are dropped and counted, and reported when writing works again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { delay, isStatusError, systemClock } from '@kapstan/api';
import { Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { fillDisk, makeRoom, mountSmallDisk, unmountSmallDisk } from '@kapstan/storage/testing';
import { describe, expect, it } from 'vitest';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

const command = fileURLToPath(new URL('../../packages/control-plane/bin/kapstan.js', import.meta.url));
/** At this verbosity each failed handshake is logged, one line each. */
const flags = ['--v=4'];

function clientOf(server: ServeProcess): Client {
  return new Client({ ...clientConfigOf(parseKubeconfig(readFileSync(server.kubeconfig, 'utf8'))), proxyUrl: '' });
}

async function droppedLines(client: Client): Promise<number> {
  const { body } = await client.raw({ path: '/metrics' });
  return Number(/^kapstan_log_lines_dropped_total (\d+)$/m.exec(body)?.[1]);
}

/** Causes failed handshakes, each of which adds a line to the log. */
async function failHandshakes(server: ServeProcess, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const socket = connectTcp(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write('this is no TLS\r\n\r\n');
    await once(socket, 'close');
  }
}

/** Sends a request and abandons it; its line in the log contains its path. */
async function abandonRequest(server: ServeProcess, pathBytes: number): Promise<void> {
  const port = Number(new URL(server.url).port);
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  const path = `/api/v1/namespaces/default/configmaps/${'x'.repeat(pathBytes)}`;
  const head = [`PUT ${path} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${server.adminToken}`, 'Content-Length: 9'];
  socket.write(`${head.join('\r\n')}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n\r\n`);
  await once(socket, 'data');
  socket.destroy();
}

const createText = (client: Client, name: string): Promise<ConfigMap> =>
  client.create(ConfigMap, { metadata: { namespace: 'default', name }, data: { text: 'x'.repeat(60_000) } });

/** Creates objects until the disk has no room for one, and returns how many there are. */
async function createUntilFull(client: Client, prefix: string): Promise<number> {
  for (let n = 0; ; n++) {
    try {
      await createText(client, `${prefix}-${n}`);
    } catch (error) {
      if (!isStatusError(error) || error.code !== 507) throw error;
      return n;
    }
  }
}

/**
 * Returns the number of lines that the log says were dropped. Throws when a line of the server is not whole; LMDB adds
 * lines of its own that are not JSON.
 */
function droppedInLog(file: string): number {
  const text = readFileSync(file, 'utf8');
  for (const line of text.trimEnd().split('\n')) if (line.startsWith('{')) JSON.parse(line);
  return [...text.matchAll(/"dropped":(\d+)/g)].reduce((sum, [, dropped]) => sum + Number(dropped), 0);
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await delay(systemClock, 5);
}

describe('a server whose log cannot be written', () => {
  it('goes on where the device is always full, and counts what it drops', async () => {
    const stderr = openSync('/dev/full', 'w');
    const server = await startServeProcess({ flags, stderr });
    const client = clientOf(server);
    try {
      const before = await droppedLines(client);
      expect(before).toBeGreaterThan(0);
      await failHandshakes(server, 10);
      await until(async () => (await droppedLines(client)) >= before + 10);
    } finally {
      await client.close();
      await server.close();
      closeSync(stderr);
    }
  });

  it('writes whole lines again as soon as the disk has room, after one that tells what is missing', async ({
    skip,
  }) => {
    const mount = mkdtempSync(join(tmpdir(), 'kapstan-log-'));
    const refusal = mountSmallDisk(mount, 1);
    if (refusal !== undefined) return skip(refusal);
    const file = join(mount, 'log');
    const stderr = openSync(file, 'a');
    try {
      const server = await startServeProcess({ flags, stderr });
      const client = clientOf(server);
      fillDisk(mount);
      // The last page of the file may still have room.
      await until(async () => {
        await failHandshakes(server, 10);
        return (await droppedLines(client)) > 0;
      });
      makeRoom(mount);
      await until(async () => / log lines? (was|were) dropped/.test(readFileSync(file, 'utf8')));
      await client.close();
      await server.close();
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
      const told = lines
        .map((line) => JSON.parse(line) as { readonly dropped?: number })
        .filter((line) => line.dropped);
      expect(told.length).toBeGreaterThan(0);
      expect(lines.at(-1)).toContain('shutting down');
    } finally {
      closeSync(stderr);
      unmountSmallDisk(mount);
      rmSync(mount, { recursive: true, force: true });
    }
  });

  it('goes on when its data are on the same full disk: writes get 507, and both work again when there is room', {
    timeout: 60_000,
  }, async ({ skip }) => {
    const mount = mkdtempSync(join(tmpdir(), 'kapstan-log-and-data-'));
    const refusal = mountSmallDisk(mount, 24);
    if (refusal !== undefined) return skip(refusal);
    const file = join(mount, 'log');
    const stderr = openSync(file, 'a');
    const dataDir = join(mount, 'data');
    mkdirSync(dataDir, { mode: 0o700 });
    const server = await startServeProcess({ flags, stderr, dataDir });
    const client = clientOf(server);
    try {
      fillDisk(mount, 4 * 1_048_576);
      expect(await createUntilFull(client, 'full')).toBeGreaterThan(0);
      await until(async () => {
        await failHandshakes(server, 10);
        return (await droppedLines(client)) > 0;
      });
      await createUntilFull(client, 'still-full');
      await failHandshakes(server, 10);
      expect(await droppedLines(client)).toBeGreaterThan(10);
      expect(server.process.exitCode).toBeNull();

      makeRoom(mount);
      await createText(client, 'room');
      await until(async () => {
        await failHandshakes(server, 1);
        return droppedInLog(file) === (await droppedLines(client));
      });
    } finally {
      await client.close();
      await server.close();
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
      closeSync(stderr);
      unmountSmallDisk(mount);
      rmSync(mount, { recursive: true, force: true });
      expect(lines.at(-1)).toContain('shutting down');
    }
  });

  it('goes on when the reader of its log is gone', async () => {
    const server = await startServeProcess({ flags });
    const client = clientOf(server);
    server.process.stderr?.destroy();
    await failHandshakes(server, 10);
    await until(async () => (await droppedLines(client)) >= 9);
    await client.close();
    await server.close();
  });

  it('waits for nobody who does not read its log, keeps what fits, and tells how much is missing', async () => {
    const server = await startServeProcess({ flags });
    const client = clientOf(server);
    try {
      server.process.stderr?.pause();
      // The buffers of the system and of the server are full after a few MiB.
      await until(async () => {
        await abandonRequest(server, 400_000);
        return (await droppedLines(client)) >= 3;
      });
      server.process.stderr?.resume();
      await until(async () => / log lines? (was|were) dropped/.test(server.stderr()));
    } finally {
      await client.close();
      await server.close();
    }
  });
});

describe('a command whose output cannot be written', () => {
  it.each([
    ['a result', ['serve', '--help'], 1],
    ['a version', ['version'], 1],
    ['a wrong call', ['serve', '--nope'], 2],
  ])('ends with its own status, without a stack: %s', async (_what, args, status) => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [command, ...args], { stdio: ['ignore', full, full] });
    expect(await once(child, 'exit')).toEqual([status, null]);
    closeSync(full);
    const unread = spawn(process.execPath, [command, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let stderr = '';
    unread.stdout.destroy();
    unread.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    expect(await once(unread, 'exit')).toEqual([status, null]);
    expect(stderr).not.toContain('node:');
  });
});
