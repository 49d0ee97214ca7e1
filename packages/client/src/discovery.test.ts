import { type Resource, resource } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DiscoveryCallOptions } from './discovery.ts';
import type { PodLogOptions } from './pod-log.ts';
import { RestMapper } from './rest-mapper.ts';
import { type Answer, json, ScriptedServer, status } from './testing/scripted-server.ts';
import { WireClient as Client } from './testing/wire-client.ts';

const pods = resource({ group: '', version: 'v1', kind: 'Pod' });
const aggregatedType = {
  headers: { 'content-type': 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' },
};
const verbs = ['get', 'list', 'watch'];
const found = (resource: string, kind: string, rest: Record<string, unknown> = {}) => ({
  resource,
  responseKind: { group: '', version: '', kind },
  scope: 'Namespaced',
  singularResource: kind.toLowerCase(),
  verbs,
  ...rest,
});
const root = (items: readonly unknown[]): Answer =>
  json({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items }, aggregatedType);
const group = (name: string, versions: readonly unknown[]) => ({ metadata: name === '' ? {} : { name }, versions });

const core = [
  group('', [
    {
      version: 'v1',
      freshness: 'Current',
      resources: [
        found('pods', 'Pod', {
          shortNames: ['po'],
          categories: ['all'],
          subresources: [{ subresource: 'status' }, { subresource: 'log' }],
        }),
        found('services', 'Service', { shortNames: ['svc'], categories: ['all'] }),
        found('events', 'Event', { shortNames: ['ev'] }),
        found('namespaces', 'Namespace', { scope: 'Cluster', shortNames: ['ns'] }),
      ],
    },
  ]),
];
const named = [
  group('apps', [
    { version: 'v1', resources: [found('deployments', 'Deployment', { shortNames: ['deploy'], categories: ['all'] })] },
  ]),
  group('events.k8s.io', [{ version: 'v1', resources: [found('events', 'Event', { shortNames: ['ev'] })] }]),
  group('autoscaling', [
    {
      version: 'v2',
      resources: [found('horizontalpodautoscalers', 'HorizontalPodAutoscaler', { shortNames: ['hpa'] })],
    },
    {
      version: 'v1',
      resources: [found('horizontalpodautoscalers', 'HorizontalPodAutoscaler', { shortNames: ['hpa'] })],
    },
  ]),
  group('metrics.k8s.io', [{ version: 'v1beta1', freshness: 'Stale' }]),
];

describe('discovery', () => {
  let server: ScriptedServer;
  let client: Client;
  let answers: Map<string, Answer>;
  beforeEach(async () => {
    server = await ScriptedServer.start();
    client = new Client({ server: server.url });
    answers = new Map([
      ['/api', root(core)],
      ['/apis', root(named)],
    ]);
    const missing = json(status(404, 'NotFound', 'no'), { status: 404 });
    server.always((response, request) => void (answers.get(request.path) ?? missing)(response, request));
  });
  afterEach(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  it('takes groups and resources from two aggregated answers, asked once for all callers', async () => {
    const [catalog] = await Promise.all([client.discovery.catalog(), client.discovery.catalog()]);
    expect(server.requests.map(({ path }) => path).sort()).toEqual(['/api', '/apis']);
    expect(server.last.headers.accept).toBe(
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json',
    );
    expect(catalog.groups.map(({ name, preferredVersion }) => `${name}/${preferredVersion}`)).toEqual([
      '/v1',
      'apps/v1',
      'events.k8s.io/v1',
      'autoscaling/v2',
      'metrics.k8s.io/v1beta1',
    ]);
    expect(catalog.resources[0]).toEqual({
      group: '',
      version: 'v1',
      resource: 'pods',
      kind: 'Pod',
      isNamespaced: true,
      singularName: 'pod',
      shortNames: ['po'],
      categories: ['all'],
      verbs,
      subresources: ['status', 'log'],
    });
    expect([...catalog.failures].map(([name, error]) => [name, error.message])).toEqual([
      ['metrics.k8s.io/v1beta1', 'stale GroupVersion discovery: metrics.k8s.io/v1beta1'],
    ]);
  });

  it('keeps what it was told until invalidate(), then asks anew', async () => {
    const first = await client.discovery.catalog();
    const asked = server.requests.length;
    expect(await client.discovery.catalog()).toBe(first);
    expect(server.requests).toHaveLength(asked);
    client.discovery.invalidate();
    const second = await client.discovery.catalog();
    expect(server.requests).toHaveLength(2 * asked);
    expect(second.resources).toEqual(first.resources);
  });

  describe('for a caller who does not wait for ever', () => {
    const clock = new VirtualClock();
    const calls: readonly [string, (options: DiscoveryCallOptions) => Promise<unknown>][] = [
      ['catalog', (options) => client.discovery.catalog(options)],
      ['serves', (options) => client.discovery.serves(pods, options)],
      ['serverVersion', (options) => client.discovery.serverVersion(options)],
      ['forKind', (options) => client.mapper.forKind('v1', 'Pod', options)],
      ['forName', (options) => client.mapper.forName('po', options)],
      ['forCategory', (options) => client.mapper.forCategory('all', options)],
    ];
    let answer: () => void;
    beforeEach(async () => {
      await client.close();
      client = new Client({ server: server.url }, { clock });
      const answered = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const given = answers;
      server.always(async (response, request) => {
        await answered;
        given.get(request.path)?.(response, request);
      });
    });

    it.each(calls)('ends with the signal, and with the time: %s', async (_, call) => {
      const abort = new AbortController();
      const outcomes = [call({ signal: abort.signal }), call({ timeoutMs: 5 })].map((outcome) =>
        outcome.catch((error: unknown) => error),
      );
      while (server.requests.length === 0) await new Promise(setImmediate);
      await clock.advance(5);
      abort.abort('enough');
      expect(await Promise.all(outcomes)).toEqual(['enough', expect.objectContaining({ code: 'ETIMEDOUT' })]);
      await expect(call({ timeoutMs: -1 })).rejects.toThrow(TypeError);
    });

    it.each(calls)(
      'ends after the 32 s of its requests, also where no time or a longer one is set: %s',
      async (_, call) => {
        const ended: unknown[] = [];
        for (const timeoutMs of [0, 100_000])
          call({ timeoutMs }).catch(({ code }: { code: string }) => void ended.push(code));
        while (server.requests.length < 2) await new Promise(setImmediate);
        await clock.advance(31_999);
        expect(ended).toEqual([]);
        await clock.advance(1);
        while (ended.length < 2) await new Promise(setImmediate);
        expect(ended).toEqual(['ETIMEDOUT', 'ETIMEDOUT']);
      },
    );

    it('goes on for those who wait, with one reading', async () => {
      const hurried = client.discovery.catalog({ timeoutMs: 5 }).catch(({ code }: { code: string }) => code);
      const patient = client.mapper.forName('po');
      while (server.requests.length < 2) await new Promise(setImmediate);
      await clock.advance(5);
      expect(await hurried).toBe('ETIMEDOUT');
      answer();
      expect(await patient).toMatchObject({ kind: 'Pod' });
      expect(await client.discovery.catalog({ timeoutMs: 5 })).toMatchObject({ groups: expect.any(Array) });
      expect(server.requests.map(({ path }) => path).sort()).toEqual(['/api', '/apis']);
    });

    it('asks for nothing where the signal has aborted before', async () => {
      for (const [, call] of calls) await expect(call({ signal: AbortSignal.abort('before') })).rejects.toBe('before');
      expect([server.requests, client.discovery.hasCatalog]).toEqual([[], false]);
    });
  });

  it('asks group version by group version where the server does not aggregate, and keeps what it got', async () => {
    answers = new Map([
      ['/api', json({ kind: 'APIVersions', versions: ['v1'] })],
      [
        '/apis',
        json({
          kind: 'APIGroupList',
          apiVersion: 'v1',
          groups: [
            {
              name: 'apps',
              versions: [{ groupVersion: 'apps/v1', version: 'v1' }],
              preferredVersion: { groupVersion: 'apps/v1', version: 'v1' },
            },
            {
              name: 'broken',
              versions: [{ groupVersion: 'broken/v1', version: 'v1' }],
              preferredVersion: { version: 'v1' },
            },
          ],
        }),
      ],
      [
        '/api/v1',
        json({
          kind: 'APIResourceList',
          resources: [
            { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs, shortNames: ['po'] },
            { name: 'pods/log', singularName: '', namespaced: true, kind: 'Pod', verbs: ['get'] },
          ],
        }),
      ],
      ['/apis/apps/v1', json({ kind: 'APIResourceList', resources: [] })],
      ['/apis/broken/v1', json(status(503, 'ServiceUnavailable', 'broken is down'), { status: 503 })],
    ]);
    const { groups, resources, failures } = await client.discovery.catalog();
    expect(groups.map(({ name }) => name)).toEqual(['', 'apps', 'broken']);
    expect(resources).toMatchObject([
      { resource: 'pods', isNamespaced: true, shortNames: ['po'], subresources: ['log'] },
    ]);
    expect([...failures.keys()]).toEqual(['broken/v1']);
  });

  it('asks again, at the next call, only for what failed for the moment', async () => {
    const versions = ['busy', 'gone', 'fine'].map((name) => ({ name, versions: [{ version: 'v1' }] }));
    const one = json({ kind: 'APIResourceList', resources: [{ name: 'x', namespaced: false, kind: 'X', verbs }] });
    answers = new Map([
      ['/apis', json({ kind: 'APIGroupList', groups: versions })],
      ['/apis/busy/v1', json(status(503, 'ServiceUnavailable', 'busy'), { status: 503 })],
      ['/apis/fine/v1', one],
    ]);
    expect([...(await client.discovery.catalog()).failures.keys()].sort()).toEqual(['busy/v1', 'gone/v1']);
    answers.set('/apis/busy/v1', one);
    const before = server.requests.length;
    const [{ resources, failures }] = await Promise.all([client.discovery.catalog(), client.discovery.catalog()]);
    expect(resources.map((entry) => entry.group)).toEqual(['fine', 'busy']);
    expect([...failures.keys()]).toEqual(['gone/v1']);
    await client.discovery.catalog();
    expect(server.requests.slice(before).map(({ path }) => path)).toEqual(['/apis/busy/v1']);
  });

  it('reads the resources one by one where only one of the two answers is aggregated', async () => {
    answers.set('/apis', json({ kind: 'APIGroupList', groups: [{ name: 'apps', versions: [{ version: 'v1' }] }] }));
    const resourceList = json({
      kind: 'APIResourceList',
      resources: [{ name: 'x', namespaced: false, kind: 'X', verbs }],
    });
    for (const path of ['/api/v1', '/apis/apps/v1']) answers.set(path, resourceList);
    const { resources } = await client.discovery.catalog();
    expect(resources.map(({ group: name, kind }) => `${name}/${kind}`)).toEqual(['/X', 'apps/X']);
  });

  it('does without the core group, keeps no failure, and asks anew after invalidate()', async () => {
    answers.set('/apis', json(status(500, 'InternalError', 'boom'), { status: 500 }));
    await expect(client.discovery.catalog()).rejects.toThrow('boom');
    answers.delete('/api');
    answers.set('/apis', root(named));
    expect((await client.discovery.catalog()).groups[0]?.name).toBe('apps');
    const before = server.requests.length;
    await client.discovery.catalog();
    expect(server.requests.length).toBe(before);
    client.discovery.invalidate();
    await client.discovery.catalog();
    expect(server.requests.length).toBe(before + 2);
  });

  it('says whether a resource is served now, asked anew, and not where its group does not answer', async () => {
    const token = (apiGroup: string, version: string, kind: string) => resource({ group: apiGroup, version, kind });
    const ask = (...tokens: Resource[]) => Promise.all(tokens.map((each) => client.discovery.serves(each)));
    const deployments = token('apps', 'v1', 'Deployment');
    expect(await ask(deployments, token('apps', 'v2', 'Deployment'), token('', 'v1', 'Deployment'))).toEqual([
      true,
      false,
      false,
    ]);
    await expect(ask(token('metrics.k8s.io', 'v1beta1', 'NodeMetrics'))).rejects.toThrow();
    const before = server.requests.length;
    answers.set('/apis', root(named.slice(1)));
    expect(await ask(deployments, deployments, token('', 'v1', 'Pod'))).toEqual([false, false, true]);
    expect(server.requests.length).toBe(before + 2);
    answers.set('/apis', json({ kind: 'APIGroupList', groups: [{ name: 'apps', versions: [{ version: 'v1' }] }] }));
    expect(await ask(deployments)).toEqual([false]);
    answers.set('/apis/apps/v1', json(status(503, 'ServiceUnavailable', 'busy'), { status: 503 }));
    await expect(ask(deployments)).rejects.toThrow('busy');
  });

  it('reads the version', async () => {
    answers.set('/version', json({ major: '1', minor: '36', gitVersion: 'v1.36.3' }));
    expect(await client.discovery.serverVersion()).toMatchObject({ major: '1', gitVersion: 'v1.36.3' });
  });

  describe('RestMapper', () => {
    const text = async (word: string): Promise<string> => {
      const { group: name, version, plural, scope } = await new RestMapper(client.discovery).forName(word);
      return `${name}/${version}/${plural} ${scope}`;
    };

    it.each([
      ['pods', '/v1/pods Namespaced'],
      ['Pod', '/v1/pods Namespaced'],
      ['po', '/v1/pods Namespaced'],
      ['ns', '/v1/namespaces Cluster'],
      ['events', '/v1/events Namespaced'],
      ['ev.events.k8s.io', 'events.k8s.io/v1/events Namespaced'],
      ['deploy.apps', 'apps/v1/deployments Namespaced'],
      ['deployments.v1.apps', 'apps/v1/deployments Namespaced'],
      ['hpa', 'autoscaling/v2/horizontalpodautoscalers Namespaced'],
      ['horizontalpodautoscalers.v1.autoscaling', 'autoscaling/v1/horizontalpodautoscalers Namespaced'],
    ])('knows what %s means', async (word, expected) => {
      expect(await text(word)).toBe(expected);
    });

    it('takes a miss in what it has just read as final, and asks anew once for all that miss at once', async () => {
      const mapper = new RestMapper(client.discovery);
      await expect(mapper.forName('nonsense')).rejects.toThrow(TypeError);
      expect(server.requests).toHaveLength(2);
      await Promise.allSettled(Array.from({ length: 20 }, (_, at) => mapper.forName(`nonsense${at}`)));
      expect(server.requests).toHaveLength(4);
    });

    it('takes a name before a short name, also of an earlier group', async () => {
      answers.set('/apis', root([...named, group('x.io', [{ version: 'v1', resources: [found('po', 'Po')] }])]));
      expect(await text('po')).toBe('x.io/v1/po Namespaced');
    });

    it('maps a kind to its resource, and looks again for one that is new', async () => {
      const mapper = new RestMapper(client.discovery);
      expect(await mapper.forKind('apps/v1', 'Deployment')).toMatchObject({
        plural: 'deployments',
        scope: 'Namespaced',
      });
      await expect(mapper.forKind('x.io/v1', 'Echo')).rejects.toThrow(
        'no matches for kind "Echo" in version "x.io/v1"',
      );
      answers.set('/apis', root([...named, group('x.io', [{ version: 'v1', resources: [found('echoes', 'Echo')] }])]));
      expect(await mapper.forKind('x.io/v1', 'Echo')).toMatchObject({ plural: 'echoes' });
      await expect(mapper.forName('nonsense')).rejects.toThrow(`the server doesn't have a resource type "nonsense"`);
    });

    it('expands a category', async () => {
      const all = await new RestMapper(client.discovery).forCategory('all');
      expect(all.map(({ plural }) => plural)).toEqual(['pods', 'services', 'deployments']);
    });
  });
});

describe('podLog', () => {
  it('streams bytes and passes its options', async () => {
    await using server = await ScriptedServer.start();
    await using client = new Client({ server: server.url });
    server.next((response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write('one\n');
      response.end('two\n');
    });
    const log = await client.podLog(
      { namespace: 'n', name: 'p' },
      { container: 'c', follow: true, tailLines: 0, timestamps: false },
    );
    const chunks: Buffer[] = [];
    for await (const chunk of log) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe('one\ntwo\n');
    expect([server.last.path, server.last.query]).toEqual([
      '/api/v1/namespaces/n/pods/p/log',
      { container: 'c', follow: 'true', tailLines: '0' },
    ]);
  });

  it('passes every option of the API, and nothing of those that are off', async () => {
    await using server = await ScriptedServer.start();
    await using client = new Client({ server: server.url });
    const ask = async (options: PodLogOptions): Promise<unknown> => {
      server.next((response) => void response.writeHead(200).end());
      await (await client.podLog({ namespace: 'n', name: 'p' }, options)).toArray();
      return server.last.query;
    };
    const texts = { container: 'c', sinceTime: '2026-01-02T03:04:05Z', stream: 'Stderr' } as const;
    const flags = { follow: true, previous: true, timestamps: true, insecureSkipTLSVerifyBackend: true };
    const numbers = { sinceSeconds: 1, limitBytes: 2 };
    expect(await ask({ ...texts, ...flags, ...numbers })).toEqual(
      Object.fromEntries(Object.entries({ ...texts, ...flags, ...numbers }).map(([name, value]) => [name, `${value}`])),
    );
    const off = Object.fromEntries(Object.keys(flags).map((name) => [name, false]));
    expect(await ask(off)).toEqual({});
  });

  it('is empty where there is no log yet, which a server may say with 204', async () => {
    await using server = await ScriptedServer.start();
    await using client = new Client({ server: server.url });
    server.next((response) => void response.writeHead(204).end());
    const log = await client.podLog({ namespace: 'n', name: 'unscheduled' });
    expect(await log.toArray()).toEqual([]);
  });
});
