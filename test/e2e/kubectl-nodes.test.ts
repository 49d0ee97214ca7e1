// Tests kubectl's access to a node through `kapstan serve`: logs, exec and port-forward. The tests need a kubectl of
// 1.27 or later on the PATH. With one older than 1.30, only features that work without WebSockets are tested.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Kubelet, startKubelet } from '../kapstan/kubelet.ts';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let server: ServeProcess;
let kubelet: Kubelet;
let work: string;
let minor = 0;

function start(args: readonly string[], stdin = ''): ChildProcess {
  const target = ['--kubeconfig', server.kubeconfig, '--cache-dir', join(work, 'cache')];
  const child = spawn('kubectl', [...target, ...args], { stdio: 'pipe' });
  child.stdin?.end(stdin);
  return child;
}

async function kubectl(args: readonly string[], stdin = ''): Promise<Outcome> {
  const child = start(args, stdin);
  if (child.stdout === null || child.stderr === null) throw new Error('kubectl has no output');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr };
}

/** Collects the child's output as it grows. */
function listen(child: ChildProcess): { until(wanted: string): Promise<string> } {
  let output = '';
  child.stdout?.on('data', (piece: Buffer) => {
    output += String(piece);
  });
  return {
    until: async (wanted) => {
      await vi.waitFor(() => expect(output).toContain(wanted), { timeout: 10_000 });
      return output;
    },
  };
}

beforeAll(async () => {
  const version = spawn('kubectl', ['version', '--client', '-o', 'json'], { stdio: ['ignore', 'pipe', 'ignore'] });
  version.on('error', () => undefined);
  const shown = await text(version.stdout).catch(() => '');
  minor = shown === '' ? 0 : Number.parseInt(JSON.parse(shown).clientVersion.minor, 10);
  if (minor < 27) return;
  work = await mkdtemp(join(tmpdir(), 'kapstan-nodes-'));
  const serverFlags = ['--control-loops=none', '--disable-admission-plugins=ServiceAccount'];
  server = await startServeProcess({ flags: serverFlags });
  const pki = (name: string): Promise<string> => readFile(join(server.dataDir, 'pki', name), 'utf8');
  kubelet = await startKubelet({ cert: await pki('apiserver.crt'), key: await pki('apiserver.key') });
  const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
  const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } } };
  const objects = [
    { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    },
  ];
  for (const object of objects)
    expect(await kubectl(['create', '-f', '-'], JSON.stringify(object))).toMatchObject({ code: 0 });
  const running = ['patch', 'pod', 'p', '--subresource=status', '--type=merge', '-p', '{"status":{"phase":"Running"}}'];
  expect(await kubectl(running)).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await server?.close();
  await kubelet?.close();
  if (work) await rm(work, { recursive: true });
});

describe('kubectl to a node', () => {
  beforeEach((context) => {
    if (minor < 27)
      context.skip('no kubectl of 1.27 or later on the PATH; install one, then: npm test -- --project e2e');
  });

  it('logs shows what the kubelet has', async () => {
    const outcome = await kubectl(['logs', 'p', '--tail=7', '--since=1m']);
    expect(outcome).toEqual({ code: 0, stdout: 'first line\nsecond line\n', stderr: '' });
    expect(kubelet.asked.at(-1)).toBe('/containerLogs/default/p/c?sinceSeconds=60&tailLines=7');
    await vi.waitFor(() => expect(kubelet.open).toBe(0));
  });

  it('logs -f shows what comes, and ends for the kubelet when it is stopped', async () => {
    const child = start(['logs', '-f', 'p']);
    const output = listen(child);
    await output.until('second line');
    kubelet.log('a line of later');
    expect(await output.until('later')).toBe('first line\nsecond line\na line of later\n');
    child.kill('SIGINT');
    await once(child, 'close');
    await vi.waitFor(() => expect(kubelet.open).toBe(0));
  });

  it('exec runs a program with its input, and has its status', async (context) => {
    if (minor < 30) context.skip('kubectl before 1.30 has no WebSockets');
    const outcome = await kubectl(['exec', '-i', 'p', '--', 'cat', '-n'], 'what is said');
    expect(outcome).toMatchObject({ code: 0, stdout: 'ran cat -n\nwhat is said' });
    expect(kubelet.asked.at(-1)).toBe('/exec/default/p/c?command=cat&command=-n&error=1&input=1&output=1');
    const failed = await kubectl(['exec', 'p', '--', 'fail']);
    expect([failed.code, failed.stdout]).toEqual([3, 'ran fail\n']);
    await vi.waitFor(() => expect(kubelet.open).toBe(0));
  });

  it('port-forward leads a port there, as often as it is used', async () => {
    const child = start(['port-forward', 'pod/p', ':80']);
    const [, port] = /127\.0\.0\.1:(\d+) ->/.exec(await listen(child).until('-> 80')) ?? [];
    for (const word of ['one', 'two']) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.end(word);
      expect(await text(socket)).toBe(word.toUpperCase());
    }
    child.kill('SIGINT');
    await once(child, 'close');
    await vi.waitFor(() => expect(kubelet.open).toBe(0));
  });
});
