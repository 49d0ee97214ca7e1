// The shared list/watch suite over HTTP: a server that translates requests to the kit's fake source, and our client.
import { once } from 'node:events';
import type { ListOptions, StatusError, WatchEvent, WatchOptions } from '@kapstan/api';
import { initialEventsEndAnnotation } from '@kapstan/api/internal';
import {
  FakeListerWatcher,
  LeakCheck,
  listWatchConformance,
  type TestConfigMap,
  testConfigMaps,
} from '@kapstan/api/testing';
import { type Answer, json, ScriptedServer } from './testing/scripted-server.ts';
import { WireClient as Client } from './testing/wire-client.ts';

const overHttp =
  (fake: FakeListerWatcher<TestConfigMap>): Answer =>
  async (response, { path, query, socket }) => {
    const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1] ?? '';
    const failure = (error: unknown): void => {
      const { status, code } = error as StatusError;
      json(status, { status: code })(response, { path, query, socket } as never);
    };
    if (query.watch !== 'true') {
      const { limit, ...rest } = query;
      const options = { ...rest, namespace, limit: Number(limit ?? 0) } as ListOptions;
      const page = await fake.list(options).catch(failure);
      if (page === undefined) return;
      const { items, ...metadata } = page;
      return json({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items })(response, undefined as never);
    }
    const { sendInitialEvents, allowWatchBookmarks, ...rest } = query;
    const options = {
      ...rest,
      namespace,
      sendInitialEvents: sendInitialEvents === 'true',
      allowWatchBookmarks: allowWatchBookmarks === 'true',
      onOpen: () => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.flushHeaders();
      },
    } as WatchOptions;
    const subscription = fake.watch(options).subscribe({
      next: (event) => void response.write(`${JSON.stringify(frameOf(event))}\n`),
      error: failure,
      complete: () => void response.end(),
    });
    response.once('close', () => subscription.unsubscribe());
  };

function frameOf(event: WatchEvent<TestConfigMap>): unknown {
  if (event.type !== 'BOOKMARK') return event;
  const annotations = event.initialEventsEnd ? { [initialEventsEndAnnotation]: 'true' } : {};
  const metadata = { resourceVersion: event.resourceVersion, annotations };
  return { type: 'BOOKMARK', object: { kind: 'ConfigMap', apiVersion: 'v1', metadata } };
}

await listWatchConformance('the HTTP client', async () => {
  const leaks = new LeakCheck();
  const fake = new FakeListerWatcher<TestConfigMap>({ startVersion: 5 });
  const server = await ScriptedServer.start();
  server.always(overHttp(fake));
  const client = new Client({ server: server.url });
  return {
    listerWatcher: client.listerWatcher(testConfigMaps, { namespace: 'default' }),
    create: async (object) => void fake.add(object),
    update: async (object) => void fake.modify(object),
    delete: async (name) => fake.delete({ name }),
    compact: async () => fake.expire(),
    close: async () => {
      await client.close();
      for (const socket of server.sockets) await once(socket, 'close');
      await server[Symbol.asyncDispose]();
      await leaks.assertNone();
    },
  };
});
