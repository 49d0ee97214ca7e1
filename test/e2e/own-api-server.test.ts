// Tests examples/07-own-api-server as a program: kubectl, a client and an informer use kinds that only it has.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type KubernetesObject, resource } from '@kapstan/api';
import { selfSigned } from '@kapstan/apiserver/testing';
import { Client } from '@kapstan/client';
import { SharedInformerFactory } from '@kapstan/informers';
import { filter, firstValueFrom } from 'rxjs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

type Book = KubernetesObject & { spec: { title: string; copies?: number }; status?: { available?: number } };
const Book = resource<Book>({
  ...{ group: 'library.example.com', version: 'v1', kind: 'Book', plural: 'books', namespaced: true },
});

const program = fileURLToPath(new URL('../../examples/dist/07-own-api-server/own-api-server.js', import.meta.url));
let folder: string;
let child: ChildProcess;
let url: string;
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

const access = (who: 'librarian' | 'reader'): string[] => [
  ...['--kubeconfig=/dev/null', '--server', url, '--insecure-skip-tls-verify', '--token', `${who}-token`],
  ...['--cache-dir', join(folder, 'cache')],
];
const kubectl = (who: 'librarian' | 'reader', line: string, stdin?: string): Promise<Outcome> =>
  run([...access(who), ...line.split(' ')], stdin);

async function librarian(line: string, stdin?: string): Promise<string> {
  const outcome = await kubectl('librarian', line, stdin);
  expect(outcome.code, `kubectl ${line}\n${outcome.stderr}`).toBe(0);
  return outcome.stdout;
}

const book = (name: string, spec: object): string =>
  JSON.stringify({ apiVersion: 'library.example.com/v1', kind: 'Book', metadata: { name }, spec });

beforeAll(async () => {
  hasKubectl = (await run(['version', '--client'])).code === 0;
  folder = await mkdtemp(join(tmpdir(), 'kapstan-own-'));
  const { cert, key } = await selfSigned('CN=library');
  await writeFile(join(folder, 'tls.crt'), cert);
  await writeFile(join(folder, 'tls.key'), key);
  child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout as NonNullable<typeof child.stdout>, 'data')) as [Buffer];
  url = /served at (\S+)/.exec(line.toString())?.[1] ?? '';
});
afterAll(async () => {
  if (child.exitCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  }
  await rm(folder, { recursive: true });
});

describe('kubectl, on an API server of one’s own', () => {
  beforeEach((context) => {
    if (!hasKubectl) context.skip('no kubectl on the PATH; install one, then: npm test -- --project e2e');
  });

  it('applies, prints rows, and applies again what changed', async () => {
    const dune = book('dune', { title: 'Dune', copies: 3 });
    expect(await librarian('apply --server-side -f -', dune)).toContain('dune serverside-applied');
    expect(await librarian('apply -f -', book('emma', { title: 'Emma' }))).toContain('emma created');
    expect(await librarian('apply -f -', book('emma', { title: 'Emma', copies: 2 }))).toContain('emma configured');
    const rows = (await librarian('get bk')).split('\n').map((row) => row.split(/ +/).slice(0, 4).join(' '));
    expect(rows.slice(0, 3)).toEqual(['NAME TITLE COPIES AVAILABLE', 'dune Dune 3 3', 'emma Emma 2 2']);
  });

  it('explains the kind', async () => {
    const text = await librarian('explain books.spec');
    expect(text).toContain('KIND:       Book');
    expect(text).toContain('Title as printed on the cover.');
  });

  it('patches the status by itself, and is told what rules refuse', async () => {
    const patch = (available: number): string =>
      `patch bk dune --subresource=status --type=merge -p {"status":{"available":${available}}}`;
    await librarian(patch(1));
    expect(await librarian('get bk dune -o jsonpath={.status.available},{.spec.copies}')).toBe('1,3');
    expect((await kubectl('librarian', patch(4))).stderr).toContain('must not be more than the number of copies');
    expect((await kubectl('librarian', 'apply -f -', book('bad', {}))).stderr).toContain('spec.title: Required value');
  });

  it('lets readers read books and nothing else', async () => {
    expect((await kubectl('reader', 'get books -o name')).stdout).toContain('book.library.example.com/dune');
    const refused = await kubectl('reader', 'delete bk dune');
    expect(refused.stderr).toContain('User "ron" cannot delete resource "books"');
    expect((await kubectl('reader', 'get loans')).stderr).toContain('cannot list resource "loans"');
  });

  it('gets -w: what changes comes as it happens', async () => {
    const watch = spawn('kubectl', [...access('reader'), 'get', 'books', '-w', '--watch-only', '-o', 'name'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const named = (async () => {
      for await (const chunk of watch.stdout) if (String(chunk).includes('ulysses')) return true;
      return false;
    })();
    // The loop writes until the watch is open, because each write may be an event that it misses.
    for (let copies = 1; ; copies++) {
      await librarian('apply -f -', book('ulysses', { title: 'Ulysses', copies }));
      if (await Promise.race([named, Promise.resolve(undefined)])) break;
    }
    watch.kill('SIGTERM');
    expect(await named).toBe(true);
  });
});

it('feeds an informer', async () => {
  const client = new Client({ server: url, tls: { insecureSkipVerify: true }, token: 'librarian-token' } as never);
  const factory = new SharedInformerFactory(client);
  const books = factory.informer(Book);
  const added = firstValueFrom(books.events$.pipe(filter((event) => event.type === 'added')));
  factory.start();
  await client.create(Book, { metadata: { namespace: 'shelf', name: 'momo' }, spec: { title: 'Momo' } });
  expect(JSON.stringify(await added)).toContain('library.example.com');
  await factory.close();
  await client.close();
});
