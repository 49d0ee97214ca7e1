import { runInNewContext } from 'node:vm';
import { type KubernetesObject, type Logger, resource, silentLogger } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClientOptions } from './config/client-config.ts';
import { bind, createToken } from './subresources.ts';
import { type Answer, json, ScriptedServer, text } from './testing/scripted-server.ts';
import { WireClient as Client } from './testing/wire-client.ts';

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
    const rejectsElsewhere = (): never =>
      runInNewContext('Promise.reject(error)', { error: new Error('mine') }) as never;
    const cases: readonly [string, string, ClientOptions][] = [
      ['onWarning throws', 'onWarning', { onWarning: fail }],
      ['onWarning rejects in another realm', 'onWarning', { onWarning: rejectsElsewhere }],
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
      await new Promise(setImmediate);
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
  });

  it.each([
    [{ onWarning: 5 }, 'onWarning must be a function, not 5'],
    [{ onRequest: {} }, 'onRequest must be a function, not an object'],
    [{ writeObserver: {} }, 'writeObserver needs the function observeWrite, it is an object'],
    [{ writeObserver: () => undefined }, 'writeObserver needs the function observeWrite, it is a function'],
    [{ writeObserver: null }, 'writeObserver needs the function observeWrite, it is null'],
    [{ logger: {} }, 'logger needs the function debug, it is an object'],
    [{ logger: { ...silentLogger, error: undefined } }, 'logger needs the function error'],
    [{ clock: {} }, 'clock needs the function now, it is an object'],
    [null, 'options of a client must be an object, not null'],
    [{ timeoutms: 5 }, 'a client: unknown option "timeoutms"; did you mean "timeoutMs"?'],
    [{ timeoutMs: '5' }, 'timeoutMs must be a number of at least 0, not "5"'],
  ])('is refused at once for the option %o', (options, message) => {
    expect(() => connect(options as never)).toThrow(message);
    expect(() => connect(options as never)).toThrow(TypeError);
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

  it.each<[string, unknown, string]>([
    ['nothing', null, 'a ClientConfig, such as { server }, must be an object, not null'],
    ['a server alone', 'https://h', 'a ClientConfig, such as { server }, must be an object, not "https://h"'],
    ['a tokn', { server: 'h', tokn: 't' }, 'a ClientConfig: unknown option "tokn"; did you mean "token"?'],
    [
      'TLS with a cafile',
      { server: 'h', tls: { cafile: 'f' } },
      'tls: unknown option "cafile"; did you mean "caFile"?',
    ],
    [
      'a plugin with arguments',
      { server: 'h', exec: { command: 'c', arguments: [] } },
      'exec: unknown option "arguments"; it takes apiVersion, command, args, ',
    ],
    ['an issuer alone', { server: 'h', oidc: { issuer: 'i' } }, 'oidc: unknown option "issuer"; it takes issuerUrl, '],
    [
      'a group',
      { server: 'h', impersonate: { user: 'a', group: 'g' } },
      'impersonate: unknown option "group"; did you mean "groups"?',
    ],
    ['no server', {}, 'a ClientConfig needs a server (config.server of connect()), such as "https://10.0.0.1:6443"'],
    ['a server that is undefined', { server: undefined, token: 't' }, 'a ClientConfig needs a server'],
    ['a server that is a number', { server: 6443 }, 'server must be a string, not one of the type number'],
    ['a token that is none', { server: 'h', token: 5 }, 'token must be a string, not one of the type number'],
    [
      'a namespace that is null',
      { server: 'h', namespace: null },
      'namespace must be a string, not one of the type null',
    ],
    ['TLS that is true', { server: 'h', tls: true }, 'tls must be an object, not true'],
    ['an authority as bytes', { server: 'h', tls: { ca: Buffer.from('') } }, 'tls.ca must be a string, not one of the'],
    [
      'TLS that is off by a word',
      { server: 'h', tls: { insecureSkipVerify: 'no' } },
      'tls.insecureSkipVerify must be true',
    ],
    ['an impersonation that is a text', { server: 'h', impersonate: 'me' }, 'impersonate must be an object, not "me"'],
    [
      'a group that is a text',
      { server: 'h', impersonate: { user: 'a', groups: 'g' } },
      'impersonate.groups must be a li',
    ],
    [
      'an extra that is a text',
      { server: 'h', impersonate: { user: 'a', extra: { k: 'v' } } },
      'impersonate.extra.k must',
    ],
    ['a user that is none', { server: 'h', impersonate: { user: 5 } }, 'impersonate.user must be a string, not one of'],
    ['credentials that are none', { server: 'h', credentials: {} }, 'credentials needs the function headers'],
    ['a plugin that is a text', { server: 'h', exec: 'aws eks get-token' }, 'exec must be an object, not "aws eks'],
    [
      'arguments that are a text',
      { server: 'h', exec: { command: 'c', args: '-v' } },
      'exec.args must be a list of str',
    ],
    ['an issuer that is a text', { server: 'h', oidc: 'https://i' }, 'oidc must be an object, not "https://i"'],
  ])('is refused a configuration of %s', (_, config, message) => {
    expect(() => new Client(config as never)).toThrow(TypeError);
    expect(() => new Client(config as never)).toThrow(message);
  });

  it('does not show what it refuses of a configuration: it may be a secret', () => {
    const config = { server: 'h', token: ['top-secret'], tls: { key: { pem: 'top-secret' } } };
    for (const one of [config, { ...config, token: '' }])
      expect(() => new Client(one as never)).toThrow(/^(?!.*top-secret).*must be a string/);
  });

  describe('refuses before it sends', () => {
    const body = { data: {} };
    const text = 'x' as never;
    const selector = { app: 'a' } as never;
    const pod = target;
    const calls: readonly [string, string, (client: Client) => Promise<unknown>][] = [
      [
        'options in the patch',
        'a patch is { type, body }: "dryRun" belongs to the options, the argument after it',
        (client) => client.patch(ConfigMap, target, { type: 'merge', body, dryRun: true } as never),
      ],
      [
        'a text for options',
        'options, such as { dryRun },',
        (client) => client.mergePatch(ConfigMap, target, body, text),
      ],
      [
        'a patch of an unknown type',
        `a patch is { type: 'merge' | 'json' | 'strategic', body }, not one of the type "x"`,
        (client) => client.patch(ConfigMap, target, { type: 'x', body } as never),
      ],
      [
        'a patch of the type of an inherited member',
        'not one of the type "constructor"',
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
      ['a patch without a body', 'a patch needs a body', (client) => client.mergePatch(ConfigMap, target, undefined)],
      [
        'no patch',
        'a patch must be an object, not undefined',
        (client) => client.patch(ConfigMap, target, undefined as never),
      ],
      [
        'a JSON patch that is an object',
        'the body of a JSON patch is a list of operations, not an object',
        (client) => client.jsonPatch(ConfigMap, target, {} as never),
      ],
      ['a policy alone', 'options, such as { propagationPolicy },', (client) => client.delete(ConfigMap, target, text)],
      ['a version alone', 'options, such as { resourceVersion },', (client) => client.get(ConfigMap, target, text)],
      ['a manager alone', 'options, such as { fieldManager },', (client) => client.apply(ConfigMap, answered, text)],
      [
        'true for a dry run',
        'options, such as { dryRun },',
        (client) => client.update(ConfigMap, answered, true as never),
      ],
      [
        'a selector that is an object',
        'labelSelector must be a string, not an object',
        (client) => client.listPage(ConfigMap, { labelSelector: selector }),
      ],
      [
        'the same of a collection that is deleted',
        'labelSelector must be a string, not an object',
        (client) => client.deleteCollection(ConfigMap, { labelSelector: selector }),
      ],
      ['a limit in words', 'limit must be a number of at', (client) => client.listPage(ConfigMap, { limit: text })],
      [
        'no options of a list',
        'options, such as { namespace },',
        (client) => client.listPage(ConfigMap, null as never),
      ],
      ['a command in one piece', 'command must be a list of strings', (client) => client.exec(pod, { command: text })],
      ['no command', 'options, such as { command },', (client) => client.exec(pod, undefined as never)],
      [
        'a port alone',
        "ports takes a list, such as ['8080:80']",
        (client) => client.portForward(pod, { ports: 80 as never }),
      ],
      ['no ports', 'options, such as { ports },', (client) => client.portForward(pod, undefined as never)],
      ['a container alone', 'options, such as { container },', (client) => client.podLog(pod, text)],
      ['a number in words', 'tailLines must be a number of at', (client) => client.podLog(pod, { tailLines: text })],
      ['a flag in words', 'follow must be true or false', (client) => client.podLog(pod, { follow: 'false' as never })],
      [
        'a terminal in words',
        'tty must be true or false',
        (client) => client.exec(pod, { command: ['ls'], tty: 'no' as never }),
      ],
      ['audiences in one piece', 'audiences must be a list', (c) => createToken(c, target, { audiences: text })],
      ['a node that is none', 'node must be a string', (client) => bind(client, target, { node: 5 as never })],
      ['a request without a path', 'path must be a string, not undefined', (client) => client.raw({} as never)],
      ['a path without a slash', 'path must begin with a slash', (client) => client.rawStream({ path: 'version' })],
      [
        'a controller for a signal',
        'signal takes an AbortSignal',
        (client) => client.get(ConfigMap, target, { signal: new AbortController() as never }),
      ],
      [
        'a negative time to prepare',
        'timeoutMs must be a number of at least 0, not -1',
        (client) => client.prepare({ timeoutMs: -1 }),
      ],
    ];
    const misspelt = (options: object): never => options as never;
    const unknown: readonly (readonly [string, string, (client: Client) => unknown])[] = [
      ['list', '"labelSelector"', (client) => client.list(ConfigMap, misspelt({ labelselector: 'a=b' }))],

      [
        'metadata.list',
        '"labelSelector"',
        (client) => client.metadata.list(ConfigMap, misspelt({ labelselector: 'a' })),
      ],
      [
        'metadata.get',
        '"resourceVersion"',
        (c) => c.metadata.get(ConfigMap, target, misspelt({ resourceversion: '5' })),
      ],
      ['deleteCollection', '"dryRun"', (client) => client.deleteCollection(ConfigMap, misspelt({ dryrun: true }))],
      ['create', '"dryRun"', (client) => client.create(ConfigMap, answered, misspelt({ dryrun: true }))],
      ['update', '"dryRun"', (client) => client.update(ConfigMap, answered, misspelt({ dryrun: true }))],
      ['patch', '"dryRun"', (client) => client.mergePatch(ConfigMap, target, body, misspelt({ dryrun: true }))],
      ['apply', '"force"', (c) => c.apply(ConfigMap, answered, misspelt({ fieldManager: 'm', forced: true }))],
      ['delete', '"dryRun"', (client) => client.delete(ConfigMap, target, misspelt({ dryrun: true }))],
      ['podLog', '"container"', (client) => client.podLog(pod, misspelt({ contaner: 'a' }))],
      ['exec', '"tty"', (client) => client.exec(pod, misspelt({ command: ['ls'], TTY: true }))],
      ['attach', '"stdin"', (client) => client.attach(pod, misspelt({ stdIn: true }))],
      ['dialPort', '"timeoutMs"', (client) => client.dialPort(pod, 80, misspelt({ timeoutms: 5 }))],
      [
        'portForward',
        '"addresses"',
        (client) => client.portForward(pod, misspelt({ ports: [':80'], adresses: ['::1'] })),
      ],
      ['raw', '"contentType"', (client) => client.raw(misspelt({ path: '/', contenttype: 'text/plain' }))],
      ['rawStream', '"method"', (client) => client.rawStream(misspelt({ path: '/', metod: 'POST' }))],
    ];
    it.each(unknown)('an option that nobody knows: %s', async (_, message, call) => {
      server.always(json(answered));
      const error = await Promise.resolve(call(connect())).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({ message: expect.stringMatching(`unknown option .*${message}`) });
      expect(server.requests).toEqual([]);
    });

    it.each(calls)('%s', async (_, message, call) => {
      server.always(json(answered));
      const error = await call(connect()).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({ message: expect.stringContaining(message) });
      expect(server.requests).toEqual([]);
    });
  });

  it('refuses watches before anybody subscribes', () => {
    const client = connect();
    const wrong = [
      { fieldSelector: 5 },
      { fieldselector: 'a=b' },
      { timeoutSeconds: '60' },
      { signal: {} },
      null,
      'a=b',
    ] as unknown as readonly never[];
    for (const options of wrong) {
      expect(() => client.watch(ConfigMap, options)).toThrow(TypeError);
      expect(() => client.watchEvents(ConfigMap, options)).toThrow(TypeError);
      expect(() => client.metadata.watch(ConfigMap, options)).toThrow(TypeError);
    }
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
