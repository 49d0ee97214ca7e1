// client-go's shared informer and ours, side by side on one server, while ConfigMaps are created, changed and deleted
// at random and connections break. They must end with the same cache, and see each object's versions in the same order.
// The test needs Go.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { DeepReadonly } from '@kapstan/api';
import { Client } from '@kapstan/client';
import {
  isDeletedFinalStateUnknown,
  SharedInformerFactory,
  type SharedInformerFactoryOptions,
} from '@kapstan/informers';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { ByteProxy } from '@kapstan/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ServeProcess, startServeProcess } from '../../kapstan/serve-process.ts';
import { randomOf } from '../../reliability/write-history.ts';
import { objectFrom, requestJson } from './etcd-requests.ts';
import { buildGoProgram, buildTimeoutMs } from './go-programs.ts';

/** "add NAME VERSION", "update …", "delete …", or "tombstone …" with the last known version. */
type Notes = Map<string, string[]>;

/** An informer that is compared with the others. */
interface Twin {
  readonly name: string;
  readonly notes: Notes;
  readonly proxy: ByteProxy;
  /** "NAME=VERSION", sorted. */
  cache(): Promise<readonly string[]>;
}

const objects = 10;
let server: ServeProcess;
let program = '';
let missing: string | undefined;
let client: Client;
let namespace = '';
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  const built = await buildGoProgram(new URL('informer-twin/', import.meta.url), 'informer-twin');
  if (typeof built === 'string') {
    missing = built;
    return;
  }
  program = built.path;
  server = await startServeProcess({ flags: ['--control-loops=none', '--disable-admission-plugins=ServiceAccount'] });
  client = clientOf(server.url);
}, buildTimeoutMs);

afterAll(async () => {
  for (const close of closers.reverse()) await close();
  await server?.close();
});

beforeEach(async (context) => {
  if (missing !== undefined) context.skip(missing);
  namespace = `twins-${context.task.id.replaceAll(/[^0-9a-z]/g, '')}`;
  await client.create(Namespace, { metadata: { name: namespace } });
});

describe('client-go’s informer and ours', () => {
  it('are told the same, version by version, while nothing breaks', async () => {
    const written = await followWrites();
    const twins = await startTwins();
    await write({ seed: 1, count: 300 });
    await sameCaches(twins);
    for (const { name, notes } of twins) expect(textOf(notes), name).toEqual(textOf(written));
  });

  it('see the same through connections that break: both resume from the last version', async () => {
    const written = await followWrites();
    const twins = await startTwins();
    for (let round = 0; round < 4; round++) {
      await write({ seed: 10 + round, count: 30 });
      for (const { proxy } of twins) proxy.cut();
      await write({ seed: 20 + round, count: 30 });
      await sameCaches(twins);
    }
    for (const { name, notes } of twins) expect(textOf(notes), name).toEqual(textOf(written));
  });

  it('have the same cache after they lost a part of history, and order nothing otherwise', async () => {
    const written = await followWrites();
    const twins = await startTwins();
    await write({ seed: 30, count: 40 });
    await outage(twins, () => write({ seed: 40, count: 60 }));
    await sameCaches(twins);
    for (const { name, notes } of twins) {
      expect(countOf(notes), `${name} could not see all the time`).toBeLessThan(countOf(written));
      expect(problemsOf(notes, written), name).toEqual([]);
    }
  });

  it('report what vanished while they were cut off', async () => {
    const written = await followWrites();
    const twins = await startTwins();
    const make = (name: string) => client.create(ConfigMap, { metadata: { namespace, name } });
    for (const name of ['gone', 'changed', 'remade', 'same']) await make(name);
    await sameCaches(twins);
    await outage(twins, async () => {
      await client.delete(ConfigMap, { namespace, name: 'gone' });
      await client.mergePatch(ConfigMap, { namespace, name: 'changed' }, { data: { k: 'v' } });
      await client.delete(ConfigMap, { namespace, name: 'remade' });
      await make('remade');
      await make('new');
    });
    await sameCaches(twins);
    const kinds = ({ notes }: Twin) => [...notes].map(([name, own]) => `${name}: ${own.map(kindOf).join(' ')}`).sort();
    const seen = ['changed: add update', 'gone: add tombstone', 'new: add', 'remade: add update', 'same: add'];
    for (const twin of twins) {
      expect(kinds(twin), twin.name).toEqual(seen);
      expect(problemsOf(twin.notes, written), twin.name).toEqual([]);
    }
  });
});

/**
 * Cuts the informers off while `meanwhile` runs, then ends the history, so that no watch can deliver the missed events.
 */
async function outage(twins: readonly Twin[], meanwhile: () => Promise<void>): Promise<void> {
  for (const { proxy } of twins) {
    proxy.stopListening();
    proxy.cut();
  }
  await meanwhile();
  await objectFrom(requestJson(admin(), 'POST', '/debug/kapstan/store/compact'));
  for (const { proxy } of twins) await proxy.listen();
}

const admin = () => ({ url: server.url, token: server.adminToken });

function clientOf(url: string): Client {
  const made = new Client({ server: url, token: server.adminToken, tls: { insecureSkipVerify: true } });
  closers.push(() => made.close());
  return made;
}

/** Records all changes, through a watch that nothing disturbs. */
async function followWrites(): Promise<Notes> {
  const written: Notes = new Map();
  const { resourceVersion } = await client.listPage(ConfigMap, { namespace });
  const words = { ADDED: 'add', MODIFIED: 'update', DELETED: 'delete' } as const;
  const watch = client.watch(ConfigMap, { namespace, resourceVersion }).subscribe((event) => {
    if (event.type !== 'BOOKMARK') note(written, words[event.type], event.object);
  });
  closers.push(() => watch.unsubscribe());
  return written;
}

async function startTwins(): Promise<readonly Twin[]> {
  return [
    await startGo(),
    await startOurs('ours, by deltas and streamed lists', {}),
    await startOurs('ours, in order and by lists', { fifo: 'inOrder', useWatchList: false }),
  ];
}

async function startProxy(): Promise<ByteProxy> {
  const proxy = await ByteProxy.start({ targetPort: () => Number(new URL(server.url).port) });
  closers.push(() => proxy.close());
  return proxy;
}

async function startGo(): Promise<Twin> {
  const proxy = await startProxy();
  const url = `https://127.0.0.1:${proxy.port}`;
  const args = ['-server', url, '-token', server.adminToken, '-namespace', namespace];
  const child: ChildProcess = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  closers.push(() => child.kill());
  const notes: Notes = new Map();
  let answer: (cache: readonly string[]) => void = () => undefined;
  const synced = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout as NonNullable<typeof child.stdout> }).on('line', (line) => {
      const [word = '', ...rest] = line.split(' ');
      if (word === 'synced') resolve();
      else if (word === 'cache') answer(rest);
      else note(notes, word, { metadata: { name: rest[0] ?? '', resourceVersion: rest[1] ?? '' } });
    });
  });
  await synced;
  const cache = () =>
    new Promise<readonly string[]>((resolve) => {
      answer = resolve;
      child.stdin?.write('dump\n');
    });
  return { name: 'client-go', notes, proxy, cache };
}

async function startOurs(
  name: string,
  { fifo, ...options }: SharedInformerFactoryOptions & { readonly fifo?: 'inOrder' },
): Promise<Twin> {
  const proxy = await startProxy();
  const source = clientOf(`https://127.0.0.1:${proxy.port}`);
  const factory = new SharedInformerFactory(source, { namespace, onWatchError: () => undefined, ...options });
  closers.push(() => factory.close());
  const informer = factory.informer(ConfigMap, fifo === undefined ? {} : { fifo });
  const notes: Notes = new Map();
  const registration = informer.addEventHandler({
    onAdd: (object) => note(notes, 'add', object),
    onUpdate: (before, object) => {
      if (before.metadata?.resourceVersion !== object.metadata?.resourceVersion) note(notes, 'update', object);
    },
    onDelete: (object) => {
      if (!isDeletedFinalStateUnknown<ConfigMap>(object)) note(notes, 'delete', object);
      else if (object.object !== undefined) note(notes, 'tombstone', object.object);
    },
  });
  factory.start();
  await registration.whenSynced();
  return { name, notes, proxy, cache: async () => statesOf(informer.lister.list()) };
}

function note(notes: Notes, word: string, { metadata }: DeepReadonly<Pick<ConfigMap, 'metadata'>>): void {
  const name = metadata?.name ?? '';
  notes.set(name, [...(notes.get(name) ?? []), `${word} ${metadata?.resourceVersion}`]);
}

const kindOf = (one: string): string => one.split(' ')[0] ?? '';
const versionOf = (one: string): number => Number(one.split(' ')[1]);

function statesOf(all: readonly DeepReadonly<ConfigMap>[]): readonly string[] {
  return all.map(({ metadata }) => `${metadata?.name}=${metadata?.resourceVersion}`).sort();
}

/** Makes one random write after the other, on few objects. */
async function write({ seed, count }: { readonly seed: number; readonly count: number }): Promise<void> {
  const random = randomOf(seed);
  const present = new Set((await client.list(ConfigMap, { namespace })).map(({ metadata }) => metadata?.name ?? ''));
  for (let index = 0; index < count; index++) {
    const name = `m-${Math.floor(random() * objects)}`;
    const data = { seed: String(seed), index: String(index) };
    if (!present.has(name)) {
      await client.create(ConfigMap, { metadata: { namespace, name }, data });
      present.add(name);
    } else if (random() < 0.3) {
      await client.delete(ConfigMap, { namespace, name });
      present.delete(name);
    } else await client.mergePatch(ConfigMap, { namespace, name }, { data });
  }
}

/** Waits until all caches have the server's objects. */
async function sameCaches(twins: readonly Twin[]): Promise<void> {
  const present = statesOf(await client.list(ConfigMap, { namespace }));
  for (const { name, cache } of twins)
    await vi.waitFor(async () => expect(await cache(), name).toEqual(present), { timeout: 45_000, interval: 50 });
}

const textOf = (notes: Notes): readonly string[] =>
  [...notes].map(([name, own]) => `${name}: ${own.join(', ')}`).sort();

const countOf = (notes: Notes): number => [...notes.values()].reduce((sum, own) => sum + own.length, 0);

/**
 * Returns versions that nobody wrote or that arrived in the wrong order. The final state of an informer must equal the
 * state after the writes.
 */
function problemsOf(notes: Notes, written: Notes): string[] {
  const names = new Set([...notes.keys(), ...written.keys()]);
  return [...names].flatMap((name) => {
    const [own, truth] = [notes.get(name) ?? [], written.get(name) ?? []];
    const versions = new Set(truth.map(versionOf));
    // A tombstone shows the last known state once more.
    const told = own.filter((one) => kindOf(one) !== 'tombstone').map(versionOf);
    const isRising = told.every((version, index) => index === 0 || version > (told[index - 1] ?? 0));
    const isKnown = told.every((version) => versions.has(version));
    const isGone = ['delete', 'tombstone', ''].includes(kindOf(own.at(-1) ?? ''));
    const isEnded = isGone
      ? kindOf(truth.at(-1) ?? 'delete') === 'delete'
      : versionOf(own.at(-1) ?? '') === versionOf(truth.at(-1) ?? '');
    if (isRising && isKnown && isEnded) return [];
    return [`${name}: told ${own.join(', ')}; written ${truth.join(', ')}`];
  });
}
