import { VirtualClock } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startTestServer, type TestServer, type TestServerOptions } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';

const definitions = factDefinitions().filter(({ resource }) => resource === 'configmaps');
const flags = new Map([
  ['v', '0'],
  ['audit-log-mode', 'blocking'],
  ['feature-gates', ''],
]);

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: TestServerOptions = {}) {
  server = await startTestServer(openLmdbEngine, { definitions, flags, random: () => 0, ...options });
  const running = server;
  return (path: string, accept?: string, more: { readonly method?: string; readonly agent?: string } = {}) => {
    const { method = 'GET', agent = 'tester/1.0' } = more;
    return running.send(method, path, { headers: { 'user-agent': agent, ...(accept !== undefined && { accept }) } });
  };
}

const form = (type: string, kind: string, version = 'v1beta1') =>
  `application/${type};g=config.k8s.io;v=${version};as=${kind}`;
const note =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';
const plain = 'text/plain; charset=utf-8';

// Answers of kube-apiserver 1.36.3.
const refusal = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'only the following media types are accepted: application/json, application/yaml, text/plain',
  reason: 'NotAcceptable',
  code: 406,
};

describe('/statusz', () => {
  it('shows the start, the versions and the paths as text', async () => {
    const get = await start();
    const { status, headers, text } = await get('/statusz');
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([200, plain, 'no-cache, private']);
    expect(text).toMatch(
      new RegExp(
        `^\\napiserver statusz\\n${note.replaceAll('.', '\\.')}\\n\\nStarted: \\w{3} \\w{3} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d UTC \\d{4}\\nUp: 0 hr \\d\\d min \\d\\d sec\\nGo version: node\\S+\\nBinary version: 1\\.36\\.3\\nEmulation version: 1\\.36\\nPaths: /flagz /healthz /livez /metrics /readyz /statusz /version\\n$`,
      ),
    );
  });

  it('counts the time from the start of the process', async () => {
    const clock = new VirtualClock({ startMs: Date.parse('2026-11-02T03:04:05.700Z') + process.uptime() * 1000 });
    const get = await start({ clock });
    const { text } = await get('/statusz');
    expect(text).toMatch(/\nStarted: Mon Nov {2}2 03:04:0[56] UTC 2026\n/);
    const before = (await get('/statusz', form('json', 'Statusz'))).json;
    await clock.advance(3_600_000 * 30 + 61_000);
    expect((await get('/statusz')).text).toMatch(/\nUp: 30 hr \d\d min \d\d sec\n/);
    const after = (await get('/statusz', form('json', 'Statusz'))).json;
    expect(after.startTime).toBe(before.startTime);
    expect(after.uptimeSeconds - before.uptimeSeconds).toBe(30 * 3600 + 61);
  });

  it('is an object of config.k8s.io for programs, in JSON and YAML', async () => {
    const get = await start();
    const json = await get('/statusz', form('json', 'Statusz'));
    expect(json.headers['content-type']).toBe('application/json;g=config.k8s.io;v=v1beta1;as=Statusz');
    expect(Object.keys(json.json)).toEqual([
      ...['kind', 'apiVersion', 'metadata', 'startTime', 'uptimeSeconds'],
      ...['goVersion', 'binaryVersion', 'emulationVersion', 'paths'],
    ]);
    expect(json.json).toMatchObject({
      kind: 'Statusz',
      apiVersion: 'config.k8s.io/v1beta1',
      metadata: { name: 'apiserver' },
      binaryVersion: '1.36.3',
      emulationVersion: '1.36',
      paths: ['/flagz', '/healthz', '/livez', '/metrics', '/readyz', '/statusz', '/version'],
    });
    expect(json.headers.warning).toBeUndefined();
    const yaml = await get('/statusz', form('yaml', 'Statusz'));
    expect(yaml.headers['content-type']).toBe('application/yaml;g=config.k8s.io;v=v1beta1;as=Statusz');
    expect(yaml.text).toMatch(
      /^apiVersion: config\.k8s\.io\/v1beta1\nbinaryVersion: 1\.36\.3\nemulationVersion: "1\.36"\n/,
    );
  });

  it('warns of the version that is deprecated', async () => {
    const get = await start();
    const { headers, json } = await get('/statusz', form('json', 'Statusz', 'v1alpha1'));
    expect(json.apiVersion).toBe('config.k8s.io/v1alpha1');
    expect(headers.warning).toBe(
      '299 - "This version of the statusz endpoint is deprecated. Please use a newer version."',
    );
  });

  it('is counted under its name', async () => {
    const get = await start();
    await get('/statusz');
    await get('/statusz', form('json', 'Statusz'));
    await get('/statusz', 'application/json');
    const { text } = await get('/metrics');
    const count = (code: string, group: string, version: string) =>
      text.includes(
        `apiserver_request_total{verb="GET",dry_run="",group="${group}",version="${version}",resource="statusz",subresource="",scope="",component="apiserver",code="${code}"} 1`,
      );
    expect([count('200', '', ''), count('200', 'config.k8s.io', 'v1beta1'), count('406', '', '')]).toEqual(
      Array(3).fill(true),
    );
  });

  it('is not there when it is off', async () => {
    const get = await start({ hasStatusz: false });
    expect((await get('/statusz')).status).toBe(404);
    expect((await get('/')).json.paths).not.toContain('/statusz');
  });
});

describe('/flagz', () => {
  it('shows the flags in order as text, always with the same delimiter', async () => {
    const numbers = [0.5, 0.99];
    const get = await start({ random: () => numbers.shift() ?? 0 });
    const text = `\napiserver flagz\n${note}\naudit-log-mode=blocking\nfeature-gates=\nv=0\n`;
    for (let i = 0; i < 2; i++) expect((await get('/flagz')).text).toBe(text);
  });

  it('is an object of config.k8s.io for programs', async () => {
    const get = await start();
    const { json } = await get('/flagz', form('json', 'Flagz'));
    expect(json).toEqual({
      kind: 'Flagz',
      apiVersion: 'config.k8s.io/v1beta1',
      metadata: { name: 'apiserver' },
      flags: { 'audit-log-mode': 'blocking', 'feature-gates': '', v: '0' },
    });
  });

  it('is not there without flags', async () => {
    const get = await start({ flags: undefined });
    expect((await get('/flagz')).status).toBe(404);
    expect((await get('/statusz')).text).not.toContain('/flagz');
  });
});

describe('the pages that a server has of itself', () => {
  it.each([
    ['', 200],
    [' ', 200],
    ['*/*', 200],
    ['text/*', 200],
    ['text/plain;charset=utf-8', 200],
    ['application/json, text/plain', 200],
    ['application/json;as=Table;g=meta.k8s.io;v=v1,text/plain;q=0.5', 200],
    ['application/json', 406],
    ['application/yaml', 406],
    ['application/*', 406],
    ['application/json;v=v1;g=config.k8s.io;as=Statusz', 406],
    ['application/json;v=v1beta1;g=config.k8s.io;as=Flagz', 406],
    ['application/json;v=v1beta1;g=config.k8s.io;as=Statusz;stream=watch', 406],
    ['text/plain;v=v1beta1;g=config.k8s.io;as=Statusz', 406],
    ['text/html', 406],
    ['application/vnd.kubernetes.protobuf', 406],
    ['application/cbor', 406],
  ])('answer Accept %j with %i', async (accept, code) => {
    const get = await start();
    const { status, headers, text } = await get('/statusz', accept);
    expect(status).toBe(code);
    if (code === 200) return expect(headers['content-type']).toBe(plain);
    const isYaml = accept === 'application/yaml';
    expect(headers['content-type']).toBe(isYaml ? 'application/yaml' : 'application/json');
    if (!isYaml) return expect(JSON.parse(text)).toEqual(refusal);
    expect(parse(text)).toEqual(refusal);
  });

  it('are indented for people, as other answers are', async () => {
    const get = await start();
    const curl = { agent: 'curl/8' };
    expect((await get('/statusz', form('json', 'Statusz'), curl)).text).toMatch(/^\{\n {2}"kind": "Statusz",\n/);
    expect((await get('/statusz', 'text/html', curl)).text).toBe(JSON.stringify(refusal, null, 2));
    const asked = await get('/flagz', `application/json;pretty=1;v=v1beta1;g=config.k8s.io;as=Flagz`);
    expect(asked.text).toMatch(/^\{\n {2}"kind": "Flagz",\n/);
  });

  it('answer every method, and no path below', async () => {
    const get = await start();
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
      const { status, headers, text } = await get('/flagz', undefined, { method });
      expect([status, headers['content-type'], text === '']).toEqual([200, plain, method === 'HEAD']);
    }
    for (const path of ['/statusz/', '/flagz/', '/statusz/foo']) {
      const { status, text } = await get(path);
      expect([status, text]).toEqual([404, '404 page not found\n']);
    }
  });

  it('are among the listed paths', async () => {
    const get = await start();
    expect((await get('/')).json.paths).toEqual(expect.arrayContaining(['/flagz', '/statusz']));
  });
});
