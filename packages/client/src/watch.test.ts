import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { isExpired, type KubernetesObject, resource, type WatchEvent, type WatchOptions } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { firstValueFrom, lastValueFrom, tap, toArray } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, json, ScriptedServer, status, stream, text } from './testing/scripted-server.ts';
import { connectionTimers, currentWire } from './testing/wire.ts';
import { WireClient as Client } from './testing/wire-client.ts';

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}
const ConfigMap = resource<ConfigMap>({ group: '', version: 'v1', kind: 'ConfigMap' });
const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name, namespace: 'n', resourceVersion: '5' },
  data,
});
const frame = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
const bookmark = (annotations?: Record<string, string>): unknown => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { resourceVersion: '9', creationTimestamp: null, ...(annotations ? { annotations } : {}) },
});
const closeStream = (response: ServerResponse): void => void response.end();

describe('a watch', () => {
  let server: ScriptedServer;
  let client: Client;
  let clock: VirtualClock;
  beforeEach(async () => {
    server = await ScriptedServer.start();
    clock = new VirtualClock();
    client = new Client({ server: server.url }, { clock });
  });
  afterEach(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
    expect(clock.pendingTimers).toBe(0);
  });

  const doors: readonly [string, () => Promise<WatchEvent<ConfigMap>[]>][] = [
    ['watch()', () => lastValueFrom(client.watch(ConfigMap, { namespace: 'n' }).pipe(toArray()))],
    [
      'watchEvents()',
      async () => {
        const events: WatchEvent<ConfigMap>[] = [];
        for await (const event of client.watchEvents(ConfigMap, { namespace: 'n' })) events.push(event);
        return events;
      },
    ],
  ];

  it.each<[string, (options: WatchOptions) => Promise<unknown>]>([
    ['watch', (options) => firstValueFrom(client.watch(ConfigMap, options))],
    ['watchEvents', (options) => client.watchEvents(ConfigMap, options).next()],
    ['metadata.watch', (options) => firstValueFrom(client.metadata.watch(ConfigMap, options))],
    ['listerWatcher', (options) => firstValueFrom(client.listerWatcher(ConfigMap).watch(options))],
  ])('gives the server the time to accept it that the caller says, and any time once it has: %s', async (_, open) => {
    const ask = (): Promise<void> => new Promise<void>((resolve) => server.next(() => resolve()));
    const asked = ask();
    const refused = open({ timeoutMs: 5 }).catch((error: unknown) => error);
    await asked;
    await clock.advance(5);
    expect(await refused).toMatchObject({ code: 'ETIMEDOUT', message: expect.stringContaining('within 5 ms') });

    let say = (): void => undefined;
    server.next((response, request) => {
      stream('\n')(response, request);
      say = () => void response.write(frame('ADDED', configMap('a')));
    });
    let event: Promise<unknown> = Promise.resolve();
    await new Promise<void>((resolve) => {
      event = open({ timeoutMs: 5, onOpen: resolve });
    });
    await clock.advance(600_000);
    say();
    expect(await event).toBeDefined();

    const waited = ask();
    const patient = open({ timeoutMs: 0 }).catch(({ code }: { code: string }) => code);
    await waited;
    await clock.advance(600_000);
    await client.close();
    expect(await patient).toBe('ECANCELED');
  });

  it('keeps no listener for an answer that it asks again for', async () => {
    const warnings: string[] = [];
    const listen = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', listen);
    server.always(json(status(429, 'TooManyRequests', 'wait'), { status: 429, headers: { 'retry-after': '0' } }));
    await expect(lastValueFrom(client.watch(ConfigMap))).rejects.toMatchObject({ code: 429 });
    expect(server.requests).toHaveLength(11);
    await settle();
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });

  describe.each(doors)('through %s', (_, read) => {
    it('delivers every type of event in order and completes when the server ends it', async () => {
      const expected = [configMap('a'), configMap('b'), configMap('c')];
      server.next((response, request) => {
        stream(
          frame('ADDED', expected[0]) + frame('MODIFIED', expected[1]),
          frame('DELETED', expected[2]) + frame('BOOKMARK', bookmark()),
          frame('BOOKMARK', bookmark({ 'k8s.io/initial-events-end': 'true' })),
        )(response, request);
        closeStream(response);
      });
      expect(await read()).toEqual([
        { type: 'ADDED', object: expected[0] },
        { type: 'MODIFIED', object: expected[1] },
        { type: 'DELETED', object: expected[2] },
        { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: false },
        { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: true },
      ]);
      expect(server.last.query).toEqual({ watch: 'true' });
    });

    it('errors with the Status of an ERROR event, after the events before it', async () => {
      server.next(
        stream(
          frame('ADDED', configMap('a')),
          frame('ERROR', status(410, 'Expired', 'too old resource version: 1 (2)')),
        ),
      );
      const error: unknown = await read().catch((reason: unknown) => reason);
      expect(isExpired(error)).toBe(true);
      expect(error).toMatchObject({ message: 'too old resource version: 1 (2)', code: 410 });
    });

    it('errors with the Status of a refused watch', async () => {
      server.next(json(status(403, 'Forbidden', 'configmaps is forbidden'), { status: 403 }));
      await expect(read()).rejects.toMatchObject({
        name: 'StatusError',
        code: 403,
        message: 'configmaps is forbidden',
      });
    });

    it('errors when the connection is reset in the middle of an event', async () => {
      const open = stream(frame('ADDED', configMap('a')), '{"type":"ADD');
      server.next((response, request) => {
        open(response, request);
        response.write('', () => request.socket.resetAndDestroy());
      });
      await expect(read()).rejects.toMatchObject({ name: 'TransportError', code: 'ECONNRESET' });
    });

    it('errors when the stream ends cleanly in the middle of an event', async () => {
      server.next((response, request) => {
        stream('{"type":"ADDED","obj')(response, request);
        closeStream(response);
      });
      await expect(read()).rejects.toThrow('unable to decode an event from the watch stream');
    });

    it.each([
      ['a line that is no JSON', '<html>\n', 'unable to decode an event from the watch stream'],
      ['an unknown type', frame('RENAMED', configMap('a')), 'got invalid watch event type: RENAMED'],
      ['an event without object', '{"type":"ADDED"}\n', 'the event ADDED has no object'],
      ['a bookmark without version', frame('BOOKMARK', { metadata: {} }), 'the event BOOKMARK has no resource version'],
      ['an ERROR that holds no Status', frame('ERROR', configMap('a')), 'holds a ConfigMap instead of a Status'],
      ['a line that is no object', '[]\n', 'a watch event must be a JSON object'],
    ])('errors with %s', async (_name, line, message) => {
      server.next(stream(line));
      const error = (await read().catch((reason: unknown) => reason)) as Error;
      expect(error.message).toContain(message);
      expect(error).toMatchObject({ name: 'StatusError', code: 500 });
      expect(error).toMatchObject({ details: { causes: [{}, { reason: 'ClientWatchDecoding' }] } });
    });

    it('refuses a stream that is not JSON', async () => {
      server.next(text('hello'));
      await expect(read()).rejects.toThrow('unexpected content type of a watch: "text/plain"');
    });

    it('errors for a success other than 200', async () => {
      server.next((response) => void response.writeHead(204, { 'content-type': 'application/json' }).end());
      await expect(read()).rejects.toThrow('unexpected status of a watch: 204');
      while (server.occupied > 0) await settle();
    });

    it('fails with ECONNREFUSED when nobody listens, without a retry', async () => {
      await server[Symbol.asyncDispose]();
      await expect(read()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    });

    it('gives up when the headers do not come in time', async () => {
      const asked = new Promise<void>((resolve) => server.next(() => resolve()));
      const reading = read().catch((reason: unknown) => reason);
      await asked;
      await clock.advance(60_000);
      expect(await reading).toMatchObject({ code: 'ETIMEDOUT' });
    });

    it('waits for a Retry-After before it opens', async () => {
      const refused = new Promise<void>((resolve) =>
        server.next((response, request) => {
          json(status(429, 'TooManyRequests', 'wait'), { status: 429, headers: { 'retry-after': '3' } })(
            response,
            request,
          );
          resolve();
        }),
      );
      server.next((response, request) => {
        stream(frame('ADDED', configMap('a')))(response, request);
        closeStream(response);
      });
      const reading = read();
      await refused;
      while (clock.pendingTimers < 2) await settle();
      expect(server.requests).toHaveLength(1);
      await clock.advance(3000);
      expect(await reading).toHaveLength(1);
    });
  });

  it('survives every cut of the byte stream, also within a character', async () => {
    const object = configMap('a', { text: 'zażółć 🦆 "\\"' });
    const bytes = Buffer.from(frame('ADDED', object) + frame('DELETED', object));
    server.next(async (response, request) => {
      stream()(response, request);
      request.socket.setNoDelay(true);
      for (let at = 0; at < bytes.length; at += 3) {
        response.write(bytes.subarray(at, at + 3));
        await settle();
      }
      closeStream(response);
    });
    const events = await lastValueFrom(client.watch(ConfigMap).pipe(toArray()));
    expect(events).toEqual([
      { type: 'ADDED', object },
      { type: 'DELETED', object },
    ]);
  });

  it('asks for what its options say', async () => {
    server.next((response, request) => {
      stream()(response, request);
      closeStream(response);
    });
    const options = {
      namespace: 'n',
      labelSelector: 'a=b',
      fieldSelector: 'metadata.name=a',
      resourceVersion: '5',
      resourceVersionMatch: 'NotOlderThan',
      sendInitialEvents: true,
      allowWatchBookmarks: true,
      timeoutSeconds: 300,
    } as const;
    await lastValueFrom(client.watch(ConfigMap, options), { defaultValue: undefined });
    expect(server.last.path).toBe('/api/v1/namespaces/n/configmaps');
    expect(server.last.query).toEqual({
      watch: 'true',
      labelSelector: 'a=b',
      fieldSelector: 'metadata.name=a',
      resourceVersion: '5',
      resourceVersionMatch: 'NotOlderThan',
      sendInitialEvents: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '300',
    });
  });

  it('says when the server has accepted it, before the first event, and not when it is refused', async () => {
    const seen: string[] = [];
    const options = { onOpen: () => void seen.push('open') };
    server.next(stream(frame('ADDED', configMap('a'))), json(status(403, 'Forbidden', 'no'), { status: 403 }));
    await firstValueFrom(client.watch(ConfigMap, options).pipe(tap(({ type }) => seen.push(type))));
    await expect(lastValueFrom(client.watch(ConfigMap, options))).rejects.toThrow('no');
    expect(seen).toEqual(['open', 'ADDED']);
  });

  it('takes for the end of the initial events only the bookmark that says exactly "true"', async () => {
    const ends = ['', 'false', 'True', '1', 'true'].map((end) => bookmark({ 'k8s.io/initial-events-end': end }));
    server.next((response, request) => {
      stream([bookmark(), ...ends].map((each) => frame('BOOKMARK', each)).join(''))(response, request);
      closeStream(response);
    });
    const events = await lastValueFrom(client.watch(ConfigMap).pipe(toArray()));
    expect(events.map((event) => event.type === 'BOOKMARK' && event.initialEventsEnd)).toEqual([
      ...[false, false, false, false, false],
      true,
    ]);
  });

  it('is cold: nothing is asked before the subscription, and each has a request of its own', async () => {
    server.always(stream(frame('ADDED', configMap('a'))));
    const events$ = client.watch(ConfigMap);
    await settle();
    expect(server.requests).toHaveLength(0);
    await Promise.all([firstValueFrom(events$), firstValueFrom(events$)]);
    expect(server.requests).toHaveLength(2);
  });

  it('closes its connection when it is unsubscribed, and delivers nothing more, not even of the same chunk', async () => {
    server.next(stream(frame('ADDED', configMap('a')) + frame('ADDED', configMap('b'))));
    const seen: string[] = [];
    await new Promise<void>((resolve) => {
      const subscription = client.watch(ConfigMap).subscribe((event) => {
        seen.push(event.type);
        queueMicrotask(resolve);
        subscription.unsubscribe();
      });
    });
    while (server.occupied > 0) await settle();
    expect(seen).toEqual(['ADDED']);
  });

  it('never opens when it is unsubscribed at once', async () => {
    server.always(json({}));
    client.watch(ConfigMap).subscribe().unsubscribe();
    await settle();
    await client.raw({ path: '/healthz' });
    expect(server.requests.filter(({ query }) => query.watch)).toHaveLength(0);
  });

  it('errors with the reason of its signal', async () => {
    server.always(stream(frame('ADDED', configMap('a'))));
    const controller = new AbortController();
    const reason = new Error('enough');
    const pushed = lastValueFrom(client.watch(ConfigMap, { signal: controller.signal })).catch(
      (error: unknown) => error,
    );
    const events = client.watchEvents(ConfigMap, { signal: controller.signal });
    await events.next();
    const pulled = events.next().catch((error: unknown) => error);
    controller.abort(reason);
    expect([await pushed, await pulled]).toEqual([reason, reason]);
    const late = firstValueFrom(client.watch(ConfigMap, { signal: controller.signal }));
    await expect(late).rejects.toBe(reason);
  });

  it('leaves no socket behind, however often it is opened and left', async () => {
    server.always(stream(frame('ADDED', configMap('a'))));
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 20 }, () => firstValueFrom(client.watch(ConfigMap))));
      while (server.occupied > 0) await settle();
    }
    server.always((response, request) => {
      stream(frame('ADDED', configMap('a')))(response, request);
      closeStream(response);
    });
    await Promise.all(Array.from({ length: 20 }, () => lastValueFrom(client.watch(ConfigMap))));
    server.always(json(status(410, 'Expired', 'too old'), { status: 410 }));
    await Promise.allSettled(Array.from({ length: 20 }, () => lastValueFrom(client.watch(ConfigMap))));
    while (server.occupied > 0) await settle();
    expect(server.connections).toBe(currentWire().http2 ? 1 : 240);
  });

  describe('leaves no socket open when a reader of watchEvents()', () => {
    const reason = new Error('enough');
    const more = frame('ADDED', configMap('b', { text: 'x'.repeat(16_384) }));
    function* forever(): Generator<string, never> {
      for (;;) yield more;
    }
    const endless: Answer = async (response, request) => {
      stream(frame('ADDED', configMap('a')))(response, request);
      await pipeline(forever, response).catch(() => undefined);
    };
    const silent: Answer = stream(frame('ADDED', configMap('a')));
    const mute: Answer = () => undefined;

    const ways: readonly [string, Answer, (signal: AbortSignal, abort: () => void) => Promise<unknown>][] = [
      [
        'aborts while it waits for an event',
        silent,
        async (signal, abort) => {
          const events = client.watchEvents(ConfigMap, { signal });
          await events.next();
          const next = events.next();
          abort();
          return next;
        },
      ],
      [
        'aborts while it does something else and the stream is held back',
        endless,
        async (signal, abort) => {
          const events = client.watchEvents(ConfigMap, { signal });
          await events.next();
          for (let turn = 0; turn < 50; turn++) await settle();
          abort();
          while (server.occupied > 0) await settle();
          return events.next();
        },
      ],
      [
        'aborts before there is an answer',
        mute,
        async (signal, abort) => {
          const next = client.watchEvents(ConfigMap, { signal }).next();
          while (server.requests.length === 0) await settle();
          abort();
          return next;
        },
      ],
    ];
    it.each(ways)('%s', async (_, answer, leave) => {
      server.always(answer);
      const controller = new AbortController();
      await expect(leave(controller.signal, () => controller.abort(reason))).rejects.toBe(reason);
      while (server.occupied > 0) await settle();
      expect(server.connections).toBe(1);
    });

    it('leaves in the middle of a stream that is held back', async () => {
      server.always(endless);
      const events = client.watchEvents(ConfigMap);
      await events.next();
      for (let turn = 0; turn < 50; turn++) await settle();
      expect(server.occupied).toBe(1);
      expect(await events.return()).toEqual({ done: true, value: undefined });
      while (server.occupied > 0) await settle();
      expect(await events.next()).toEqual({ done: true, value: undefined });
    });

    it('leaves while it waits for an event that does not come', async () => {
      server.always(silent);
      const events = client.watchEvents(ConfigMap);
      await events.next();
      const next = events.next();
      const left = events.return();
      expect(await next).toEqual({ done: true, value: undefined });
      expect(await left).toEqual({ done: true, value: undefined });
      while (server.occupied > 0) await settle();
    });
  });

  it('closes its connection when the loop over watchEvents() is left', async () => {
    server.next(stream(frame('ADDED', configMap('a')) + frame('ADDED', configMap('b'))));
    for await (const event of client.watchEvents(ConfigMap)) {
      expect(event.type).toBe('ADDED');
      break;
    }
    while (server.occupied > 0) await settle();
  });

  it('has no timer of its own: a stream may be silent for ever', async () => {
    server.next(stream(frame('ADDED', configMap('a'))));
    const events = client.watchEvents(ConfigMap);
    await events.next();
    let isOver = false;
    const next = events
      .next()
      .catch((error: unknown) => error)
      .finally(() => (isOver = true));
    await clock.advance(86_400_000);
    expect([isOver, clock.pendingTimers]).toEqual([false, connectionTimers(1)]);
    await client.close();
    expect(await next).toMatchObject({ code: 'ECANCELED' });
  });

  it('stops the server while a reader of watchEvents() is slow, and loses nothing', async () => {
    const total = 3000;
    const line = frame('ADDED', configMap('a', { text: 'x'.repeat(16_384) }));
    let written = 0;
    server.next(async (response, request) => {
      stream()(response, request);
      for (; written < total; written++) if (!response.write(line)) await once(response, 'drain');
      closeStream(response);
    });
    const events = client.watchEvents(ConfigMap);
    await events.next();
    // The kernel's buffers fill until no more bytes are written.
    for (let before = -1, still = 0; still < 100; before = written) {
      await settle();
      still = written === before ? still + 1 : 0;
    }
    expect(written).toBeLessThan(total);
    let count = 1;
    for await (const _ of events) count++;
    expect(count).toBe(total);
  });

  it('refuses an event beyond the limit without keeping it', async () => {
    await using small = new Client({ server: server.url }, { maxEventBytes: 1000 });
    server.next(stream(`{"type":"ADDED","object":{"data":"${'x'.repeat(2000)}`));
    await expect(lastValueFrom(small.watch(ConfigMap))).rejects.toThrow('event exceeds 1000 bytes');
    server.next(stream(frame('ADDED', configMap('a', { text: 'x'.repeat(1000) }))));
    await expect(lastValueFrom(small.watch(ConfigMap))).rejects.toThrow('event exceeds 1000 bytes');
  });

  it('keeps numbers digit for digit and __proto__ as a plain key', async () => {
    server.next(
      stream('{"type":"ADDED","object":{"metadata":{"name":"a"},"spec":{"n":12345678901234567890,"__proto__":1}}}\n'),
    );
    const event = await firstValueFrom(client.watch(resource({ group: 'x', version: 'v1', kind: 'Y' })));
    if (event.type === 'BOOKMARK') throw new Error('no bookmark was sent');
    const { spec } = event.object as unknown as { spec: Record<string, unknown> };
    expect(String(spec.n)).toBe('12345678901234567890');
    expect(Object.keys(spec)).toEqual(['n', '__proto__']);
  });
});
