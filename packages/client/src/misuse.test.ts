import { type KubernetesObject, type Logger, resource, silentLogger } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from './client.ts';
import type { ClientOptions } from './client-config.ts';
import { type Answer, json, ScriptedServer, text } from './testing/scripted-server.ts';

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}
const ConfigMap = resource<ConfigMap>({ group: '', version: 'v1', kind: 'ConfigMap' });
const target = { namespace: 'n', name: 'a' };
const answered = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { ...target, resourceVersion: '7' } };

describe('a client that is used wrongly', () => {
  let server: ScriptedServer;
  const clients: Client[] = [];
  const connect = (options: ClientOptions = {}): Client => {
    const client = new Client({ server: server.url }, options);
    clients.push(client);
    return client;
  };
  beforeEach(async () => {
    server = await ScriptedServer.start();
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await server[Symbol.asyncDispose]();
  });

  describe('with a callback that fails', () => {
    const fail = (): never => {
      throw new Error('mine');
    };
    const rejects = (): never => Promise.reject(new Error('mine')) as never;
    const cases: readonly [string, string, ClientOptions][] = [
      ['onWarning throws', 'onWarning', { onWarning: fail }],
      ['onWarning rejects', 'onWarning', { onWarning: rejects }],
      ['onRequest throws', 'onRequest', { onRequest: fail }],
      ['onRequest rejects', 'onRequest', { onRequest: rejects }],
      ['the write observer throws', 'writeObserver', { writeObserver: { observeWrite: fail } }],
      ['the write observer rejects', 'writeObserver', { writeObserver: { observeWrite: rejects } }],
    ];
    it.each(cases)('gives what was written, and tells the logger: %s', async (_, name, options) => {
      server.always(json(answered, { headers: { warning: '299 - "unknown field"' } }));
      const told: unknown[] = [];
      const logger: Logger = { ...silentLogger, error: (message, fields) => void told.push([message, fields?.error]) };
      await expect(connect({ logger, ...options }).create(ConfigMap, answered)).resolves.toEqual(answered);
      expect(told).toEqual([[`${name} failed`, new Error('mine')]]);
    });

    it('gives what was written when the logger is what throws', async () => {
      server.always(json(answered, { headers: { warning: '299 - "unknown field"' } }));
      const warnings: string[] = [];
      const listen = ({ message }: Error): void => void warnings.push(message);
      process.on('warning', listen);
      try {
        const logger = { debug: fail, info: fail, warn: fail, error: fail };
        await expect(connect({ logger }).create(ConfigMap, answered)).resolves.toEqual(answered);
        await new Promise(setImmediate);
      } finally {
        process.removeListener('warning', listen);
      }
      expect(warnings).toEqual([expect.stringContaining('onWarning failed')]);
    });

    it('tells the other observers of the write', async () => {
      server.always(json(answered));
      const seen: string[] = [];
      const client = connect({ logger: silentLogger, writeObserver: { observeWrite: fail } });
      client.observeWrites({ observeWrite: (_, __, version) => void seen.push(version) });
      await client.update(ConfigMap, answered);
      expect(seen).toEqual(['7']);
    });
  });

  it.each([
    [{ onWarning: 5 }, 'onWarning must be a function, not 5'],
    [{ onRequest: {} }, 'onRequest must be a function, not an object'],
    [{ writeObserver: {} }, 'writeObserver needs the function observeWrite, it is an object'],
    [{ writeObserver: null }, 'writeObserver needs the function observeWrite, it is null'],
    [{ logger: {} }, 'logger needs the function debug, it is an object'],
    [{ logger: { ...silentLogger, error: undefined } }, 'logger needs the function error'],
    [{ clock: {} }, 'clock needs the function now, it is an object'],
    [null, 'options of a client must be an object, not null'],
    [{ timeoutMs: '5' }, 'timeoutMs must be a number of at least 0, not "5"'],
  ])('is refused at once for the option %o', (options, message) => {
    expect(() => connect(options as never)).toThrow(message);
    expect(() => connect(options as never)).toThrow(TypeError);
  });

  it('refuses an observer of writes that is none', () => {
    const observe = (): unknown => connect().observeWrites((() => undefined) as never);
    expect(observe).toThrow(new TypeError('writeObserver needs the function observeWrite, it is a function'));
  });

  describe('of a server that answers with a page to log in', () => {
    const page: Answer = text('<html>log in</html>', { headers: { 'content-type': 'text/html' } });
    const calls: readonly [string, string, (client: Client) => Promise<unknown>][] = [
      ['a catalog', '/api', (client) => client.discovery.catalog()],
      ['a kind', '/api', (client) => client.mapper.forKind('apps/v1', 'Deployment')],
      ['the version', '/version', (client) => client.discovery.serverVersion()],
    ];
    it.each(calls)('names the request whose answer cannot be read: %s', async (_, path, call) => {
      server.always(page);
      await expect(call(connect())).rejects.toMatchObject({
        name: 'TransportError',
        code: 'EBADMSG',
        message: expect.stringContaining(`GET ${server.url}${path}`),
      });
    });

    it.each(['null', '[]', '5'])('takes %s for no answer of discovery', async (body) => {
      server.always(text(body, { headers: { 'content-type': 'application/json' } }));
      await expect(connect().discovery.catalog()).rejects.toMatchObject({ code: 'EBADMSG' });
      await expect(connect().discovery.serverVersion()).rejects.toMatchObject({ code: 'EBADMSG' });
    });
  });

  describe('refuses before it sends', () => {
    const body = { data: {} };
    const beside = [{ dryRun: true }] as unknown as [];
    const calls: readonly [string, string, (client: Client) => Promise<unknown>][] = [
      [
        'options beside the patch',
        'patch() takes three arguments: its options, such as dryRun, stand beside type and body',
        (client) => client.patch(ConfigMap, target, { type: 'merge', body }, ...beside),
      ],
      [
        'options beside a merge patch',
        'patch() takes three arguments',
        (client) => client.mergePatch(ConfigMap, target, { body }, ...beside),
      ],
      [
        'options beside a JSON patch',
        'patch() takes three arguments',
        (client) => client.jsonPatch(ConfigMap, target, { body: [] }, ...beside),
      ],
      [
        'options beside a strategic patch',
        'patch() takes three arguments',
        (client) => client.strategicPatch(ConfigMap, target, { body }, ...beside),
      ],
      [
        'a patch of an unknown type',
        "a patch is { type: 'merge' | 'json' | 'strategic', body }, not one of the type 'x'",
        (client) => client.patch(ConfigMap, target, { type: 'x', body } as never),
      ],
      [
        'a patch of the type of an inherited member',
        "not one of the type 'constructor'",
        (client) => client.patch(ConfigMap, target, { type: 'constructor', body } as never),
      ],
      ...[-1, Number.NaN, '5'].map((timeoutMs): (typeof calls)[number] => [
        `a time of ${timeoutMs}`,
        `timeoutMs must be a number of at least 0, not ${typeof timeoutMs === 'string' ? `"${timeoutMs}"` : timeoutMs}`,
        (client) => client.get(ConfigMap, target, { timeoutMs: timeoutMs as never }),
      ]),
      [
        'a negative time for a list',
        'timeoutMs must be a number of at least 0, not -1',
        (client) => client.listPage(ConfigMap, { timeoutMs: -1 }),
      ],
      [
        'a negative time for a stream',
        'timeoutMs must be a number of at least 0, not -1',
        (client) => client.rawStream({ path: '/', timeoutMs: -1 }),
      ],
      [
        'a negative time to prepare',
        'timeoutMs must be a number of at least 0, not -1',
        (client) => client.prepare({ timeoutMs: -1 }),
      ],
    ];
    it.each(calls)('%s', async (_, message, call) => {
      server.always(json(answered));
      const error = await call(connect()).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({ message: expect.stringContaining(message) });
      expect(server.requests).toEqual([]);
    });
  });

  it.each<[string, (client: Client) => Promise<unknown>]>([
    ['get', (client) => client.get(ConfigMap, target)],
    ['list', (client) => client.listPage(ConfigMap)],
    ['watch', (client) => client.watchEvents(ConfigMap).next()],
    ['exec', (client) => client.exec(target, { command: ['x'] })],
    ['prepare', (client) => client.prepare()],
  ])('after close() rejects with the code ECANCELED: %s', async (_, call) => {
    const client = connect();
    await client.close();
    await expect(call(client)).rejects.toMatchObject({
      name: 'TransportError',
      code: 'ECANCELED',
      message: expect.stringContaining('the client is closed'),
    });
  });
});
