// Tests examples/10-joined-api-server as an aggregated API server: kubectl asks a running `kapstan serve`, which passes requests on.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { selfSigned } from '@kapstan/apiserver/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const program = fileURLToPath(
  new URL('../../examples/dist/10-joined-api-server/joined-api-server.js', import.meta.url),
);
let folder: string;
let main: ServeProcess;
let child: ChildProcess;
let hasKubectl = false;

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly string[], stdin = ''): Promise<Outcome> {
  return new Promise((resolve) => {
    const started = execFile('kubectl', args, { timeout: 50_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) || 1 : 0, stdout, stderr });
    });
    started.stdin?.end(stdin);
  });
}

const access = (): string[] => ['--kubeconfig', main.kubeconfig, '--cache-dir', join(folder, 'cache')];

async function kubectl(line: string, stdin?: string): Promise<string> {
  const outcome = await run([...access(), ...line.split(' ')], stdin);
  expect(outcome.code, `kubectl ${line}\n${outcome.stderr}`).toBe(0);
  return outcome.stdout;
}

const book = (name: string, spec: object): string =>
  JSON.stringify({ apiVersion: 'library.example.com/v1', kind: 'Book', metadata: { name }, spec });

/** Returns the objects that a cluster would have if the server ran as a pod. */
function joining(port: number, ca: string): string {
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'library', namespace: 'default' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  };
  const apiService = {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1.library.example.com' },
    spec: {
      ...{ group: 'library.example.com', version: 'v1', groupPriorityMinimum: 2000, versionPriority: 10 },
      service: { namespace: 'default', name: 'library', port },
      caBundle: Buffer.from(ca).toString('base64'),
    },
  };
  return [service, apiService].map((object) => JSON.stringify(object)).join('\n');
}

beforeAll(async () => {
  hasKubectl = (await run(['version', '--client'])).code === 0;
  folder = await mkdtemp(join(tmpdir(), 'kapstan-joined-'));
  main = await startServeProcess({ flags: [] });
  const { cert, key } = await selfSigned('CN=library', ['library.default.svc']);
  await writeFile(join(folder, 'tls.crt'), cert);
  await writeFile(join(folder, 'tls.key'), key);
  child = spawn(process.execPath, [program, folder, '0', main.kubeconfig], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout as NonNullable<typeof child.stdout>, 'data')) as [Buffer];
  const port = Number(/served at \S+:(\d+)/.exec(line.toString())?.[1]);
  if (!hasKubectl) return;
  await kubectl('apply -f -', joining(port, cert));
  await kubectl('wait --for=condition=Available --timeout=40s apiservice/v1.library.example.com');
});
afterAll(async () => {
  if (child?.exitCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  }
  await main?.close();
  await rm(folder, { recursive: true });
});

describe('kubectl, on an API server that joined another', () => {
  beforeEach((context) => {
    if (!hasKubectl) context.skip('no kubectl on the PATH; install one, then: npm test -- --project e2e');
  });

  it('finds its kinds, and applies, prints and changes their objects', async () => {
    expect(await kubectl('api-resources --api-group=library.example.com -o name')).toBe(
      'books.library.example.com\nloans.library.example.com\n',
    );
    expect(await kubectl('apply -f -', book('emma', { title: 'Emma' }))).toContain('emma created');
    expect(await kubectl('apply -f -', book('emma', { title: 'Emma', copies: 2 }))).toContain('emma configured');
    expect(await kubectl('apply --server-side -f -', book('dune', { title: 'Dune' }))).toContain(
      'dune serverside-applied',
    );
    const rows = (await kubectl('get bk')).split('\n').map((row) => row.split(/ +/).slice(0, 3).join(' '));
    expect(rows.slice(0, 3)).toEqual(['NAME TITLE COPIES', 'dune Dune 1', 'emma Emma 2']);
  });

  it('explains its kinds from its schemas', async () => {
    // The main server learns the schemas a second after the server becomes available.
    const text = await vi.waitFor(() => kubectl('explain books.spec'), { timeout: 20_000, interval: 200 });
    expect(text).toContain('Title as printed on the cover.');
  });

  it('watches', async () => {
    const args = [...access(), 'get', 'books', '-w', '--watch-only', '-o', 'name'];
    const watch = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const named = (async () => {
      for await (const chunk of watch.stdout) if (String(chunk).includes('ulysses')) return true;
      return false;
    })();
    // The loop writes until the watch is open, because each write may be an event that it misses.
    for (let copies = 1; ; copies++) {
      await kubectl('apply -f -', book('ulysses', { title: 'Ulysses', copies }));
      if (await Promise.race([named, Promise.resolve(undefined)])) break;
    }
    watch.kill('SIGTERM');
    expect(await named).toBe(true);
  });

  it('is who it is there too, by the rights that the main server gives', async () => {
    const refused = await run([...access(), '--as=ron', 'get', 'books']);
    expect(refused.stderr).toContain('User "ron" cannot list resource "books" in API group "library.example.com"');
    await kubectl('create clusterrole readers --verb=get,list --resource=books.library.example.com');
    await kubectl('create clusterrolebinding readers --clusterrole=readers --user=ron');
    await vi.waitFor(async () => expect(await kubectl('--as=ron get books -o name')).toContain('emma'), {
      timeout: 20_000,
    });
    const written = await run([...access(), '--as=ron', 'delete', 'book', 'emma']);
    expect(written.stderr).toContain('User "ron" cannot delete resource "books"');
  });
});
