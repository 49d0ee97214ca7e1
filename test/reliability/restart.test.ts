// kill -9 of a whole server, and a start on the same data at the same address: informers over HTTP recover, nothing
// acknowledged is lost (I10), no version is issued twice (I11), and no deleted object stays in a cache (I7).
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DeepReadonly, delay, silentLogger, systemClock } from '@kapstan/api';
import { Client } from '@kapstan/client';
import { SharedInformer } from '@kapstan/informers';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';
import { ReadHistory, randomOf, WriteHistory } from './write-history.ts';

describe('a server that is killed and started again', () => {
  let dataDir: string;
  let server: ServeProcess;
  let client: Client;
  let informer: SharedInformer<ConfigMap>;
  let seen: ReadHistory;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'kapstan-restart-'));
    server = await start();
    client = new Client(configOf(server));
    // Short pauses for the test; in production they begin at 800 ms.
    const backoff = { initialMs: 50, maxMs: 500, factor: 2, jitter: 1, resetAfterMs: 60_000 };
    informer = new SharedInformer(client.listerWatcher(ConfigMap, { namespace: 'default' }), {
      backoff,
      logger: silentLogger,
    });
    seen = new ReadHistory(informer);
    informer.start();
    await informer.whenSynced();
  });

  afterEach(async () => {
    await informer.close();
    await client.close();
    await server.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  /** Starts a server without control loops, so that the test alone writes objects. */
  const start = (port = '0'): Promise<ServeProcess> =>
    startServeProcess({ dataDir, flags: ['--control-loops=none', `--secure-port=${port}`] });
  const kill = async (): Promise<void> => {
    server.process.kill('SIGKILL');
    await server.close();
  };
  const startAgain = async (): Promise<void> => {
    server = await start(new URL(server.url).port);
  };
  const cached = (): DeepReadonly<ConfigMap>[] => sorted(informer.lister.list());
  const listed = async (): Promise<DeepReadonly<ConfigMap>[]> =>
    sorted(await client.list(ConfigMap, { namespace: 'default' }));

  it('loses nothing that it acknowledged, and its informers see everything', async () => {
    const history = new WriteHistory();
    const writing = [1, 2, 3].map((writer) =>
      history.write({
        client,
        clock: systemClock,
        random: randomOf(writer),
        keys: [0, 1, 2, 3].map((object) => `w${writer}-${object}`),
        writes: 120,
        maxPauseMs: 20,
      }),
    );
    for (let kills = 0; kills < 2; kills++) {
      const target = total(history) + 60;
      await until(() => total(history) >= target);
      await kill();
      await startAgain();
    }
    await Promise.all(writing);
    const last = await listed();
    const versions = (objects: readonly DeepReadonly<ConfigMap>[]): string =>
      objects.map(({ metadata }) => metadata?.resourceVersion).join();
    await until(() => versions(cached()) === versions(last));
    expect(cached()).toEqual(last);
    expect(last.map(({ metadata }) => metadata?.name)).toEqual([...history.present.keys()].sort());
    for (const object of last) {
      expect(object.metadata?.resourceVersion).toBe(
        history.present.get(object.metadata?.name ?? '')?.metadata?.resourceVersion,
      );
    }
    expect(seen.problems(history, 'lastStates')).toEqual([]);
    expect(repeated([...history.writes.values()].flat().filter(({ type }) => type !== 'delete'))).toEqual([]);
    expect(seen.phases.filter((phase) => phase === 'retrying').length).toBeGreaterThan(0);
  });

  it('finds its data, certificates and versions again', async () => {
    const created = await client.create(ConfigMap, { metadata: { name: 'a', namespace: 'default' }, data: { k: '1' } });
    await kill();
    await startAgain();
    const found = await client.get(ConfigMap, { name: 'a', namespace: 'default' });
    expect(found).toEqual(created);
    const next = await client.create(ConfigMap, { metadata: { name: 'b', namespace: 'default' } });
    expect(BigInt(next.metadata?.resourceVersion ?? 0)).toBeGreaterThan(BigInt(created.metadata?.resourceVersion ?? 0));
    await until(() => cached().length === 2);
  });

  it('buries what was deleted while an informer was cut off', async () => {
    for (const name of ['a', 'b', 'c']) await client.create(ConfigMap, { metadata: { name, namespace: 'default' } });
    await until(() => cached().length === 3);
    const port = new URL(server.url).port;
    await kill();
    // The server returns on another port, loses objects, then comes back by itself.
    server = await start();
    const elsewhere = new Client(configOf(server));
    await elsewhere.delete(ConfigMap, { name: 'b', namespace: 'default' });
    await elsewhere.close();
    await server.close();
    server = await start(port);
    await until(() => cached().length === 2);
    expect(cached()).toEqual(await listed());
    expect(seen.tombstones).toEqual(['b']);
  });
});

function configOf({ url, caFile, adminToken }: ServeProcess): ConstructorParameters<typeof Client>[0] {
  return { server: url, token: adminToken, tls: { caFile }, proxyUrl: '' };
}

function sorted(objects: readonly DeepReadonly<ConfigMap>[]): DeepReadonly<ConfigMap>[] {
  return [...objects].sort((a, b) => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1));
}

function total(history: WriteHistory): number {
  return [...history.writes.values()].reduce((sum, writes) => sum + writes.length, 0);
}

function repeated(writes: readonly { readonly version: string }[]): string[] {
  const versions = writes.map(({ version }) => version);
  return versions.filter((version, i) => versions.indexOf(version) !== i);
}

/** Waits in real time, because the server is another process. */
async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = systemClock.monotonicNow() + 20_000;
  while (!condition()) {
    if (systemClock.monotonicNow() > deadlineMs) throw new Error('the condition did not hold within 20 s');
    await delay(systemClock, 10);
  }
}
