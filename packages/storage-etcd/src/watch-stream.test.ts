import { Client, credentials, Metadata, Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import type { Revision } from '@kapstan/api';
import { afterEach, describe, expect, it } from 'vitest';
import { EtcdWatch } from './etcd-watch.ts';
import { WatchStream } from './watch-stream.ts';
import { loadWire, type WatchRequest, type WatchResponse } from './wire.ts';

type Call = ServerDuplexStream<WatchRequest, WatchResponse>;

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
});

/** Returns a server that answers only when a test says so, and a stream to it. */
async function scripted() {
  const server = new Server();
  const called = new Promise<Call>((resolve) => {
    server.addService({ watch: loadWire().watch }, { watch: (call: Call) => resolve(call) });
  });
  const port = await new Promise<number>((done, fail) => {
    const bound = (error: Error | null, number: number): void => (error === null ? done(number) : fail(error));
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), bound);
  });
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const heard: string[] = [];
  const waiters: (() => void)[] = [];
  const hear = (text: string): void => {
    heard.push(text);
    for (const waiter of waiters.splice(0)) waiter();
  };
  const watches = new Map<number, EtcdWatch>();
  const stream: WatchStream = new WatchStream({
    client,
    metadata: new Metadata(),
    sink: {
      onMessage: (id, message) => {
        const watch = watches.get(id);
        if (message.created && watch?.place) watch.place = { ...watch.place, madeAt: message.header.revision };
        hear(`${id}${message.created ? ' created' : ''}${message.canceled ? ' canceled' : ''}`);
      },
      onProgressOfAll: (_stream, revision) => {
        const covered = [...watches.values()]
          .filter((watch) => stream.covers(watch, revision))
          .map((watch) => watch.id);
        hear(`progress ${revision}: ${covered.join()}`);
      },
      onEnd: () => hear('end'),
    },
  });
  closers.push(
    () => server.forceShutdown(),
    () => client.close(),
    () => stream.close(),
  );
  const create = (id: number, after: number): EtcdWatch => {
    const sink = { onEvents: () => undefined, onProgress: () => undefined, onError: () => undefined };
    const range = { start: '/', end: '0' };
    const watch = new EtcdWatch({ id, range, after: after as Revision, wantsProgress: true, sink, quietKey: '/' });
    watches.set(id, watch);
    stream.create(watch);
    return watch;
  };
  const heardCount = async (count: number): Promise<string[]> => {
    while (heard.length < count) await new Promise<void>((done) => waiters.push(done));
    return heard;
  };
  const call = await called;
  const say = (message: Partial<WatchResponse>): boolean => call.write(message as WatchResponse);
  return { stream, call, say, create, heardCount };
}

const header = (revision: number) => ({ header: { revision } });

describe('WatchStream', () => {
  it('believes no progress report that may be the answer to a question before the watch was made', async () => {
    const { stream, say, create, heardCount } = await scripted();
    create(1, 4);
    say({ ...header(9), watchId: 1, created: true });
    await heardCount(1);
    stream.askProgress();
    create(2, 4);
    create(3, 9);
    // etcd sends the report after its answers to later requests.
    say({ ...header(9), watchId: 2, created: true });
    say({ ...header(9), watchId: 3, created: true });
    say({ ...header(9), watchId: -1 });
    expect((await heardCount(4)).at(-1)).toBe('progress 9: 1,3');
    stream.askProgress();
    say({ ...header(9), watchId: -1 });
    expect((await heardCount(5)).at(-1)).toBe('progress 9: 1,2,3');
  });

  it('believes a report of a revision after the one at which the watch was made', async () => {
    const { stream, say, create, heardCount } = await scripted();
    stream.askProgress();
    create(1, 4);
    create(2, 4);
    say({ ...header(9), watchId: 1, created: true });
    say({ ...header(10), watchId: -1 });
    // The second watch is not known to exist yet.
    expect((await heardCount(2)).at(-1)).toBe('progress 10: 1');
  });

  it('believes no progress report of a watch that is not made yet, also one that was asked for after it', async () => {
    const { stream, say, create, heardCount } = await scripted();
    create(1, 4);
    stream.askProgress();
    say({ ...header(9), watchId: -1 });
    say({ ...header(9), watchId: 1, created: true });
    say({ ...header(9), watchId: -1 });
    expect(await heardCount(3)).toEqual(['progress 9: ', '1 created', 'progress 9: 1']);
  });

  it('knows which watch was refused when etcd does not say', async () => {
    const { say, create, heardCount } = await scripted();
    create(1, 0);
    create(2, 0);
    create(3, 0);
    say({ ...header(9), watchId: 1, created: true });
    say({ ...header(9), watchId: -1, created: true, canceled: true, cancelReason: 'etcdserver: permission denied' });
    say({ ...header(9), watchId: 3, created: true });
    expect(await heardCount(3)).toEqual(['1 created', '2 created canceled', '3 created']);
  });

  it('asks to be ended when its member has no leader, instead of hearing nothing', async () => {
    const { call } = await scripted();
    expect(call.metadata.get('hasleader')).toEqual(['true']);
  });

  it('reports its end once, when the server ends it and when it fails', async () => {
    const { call, heardCount } = await scripted();
    call.end();
    expect(await heardCount(1)).toEqual(['end']);
  });
});
