import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { silentLogger } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { testAuthority } from '../testing/certificates.ts';
import { inClusterConfig, isInCluster } from './in-cluster.ts';
import { type KubeconfigUser, parseKubeconfig } from './kubeconfig.ts';
import { clientConfigOf } from './kubeconfig-client.ts';
import { kubeconfigFiles, loadKubeconfig } from './load-kubeconfig.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const config = (name: string, extra: Record<string, unknown> = {}): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: `https://${name}` } }],
    users: [{ name, user: { token: name } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    ...extra,
  });

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kapstan-kubeconfig-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});
const file = async (name: string, text: string): Promise<string> => {
  const path = join(directory, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
  return path;
};

describe('loadKubeconfig', () => {
  it('looks at KUBECONFIG without duplicates, else at ~/.kube/config', () => {
    expect(kubeconfigFiles({ KUBECONFIG: ['/a', '/b', '/a', ''].join(delimiter), HOME: '/h' })).toEqual(['/a', '/b']);
    expect(kubeconfigFiles({ KUBECONFIG: '', HOME: '/h' })).toEqual(['/h/.kube/config']);
  });

  it('takes the first file of each name, whole, and the first current-context', async () => {
    const one = await file('one', config('a', { users: [{ name: 'a', user: { username: 'only' } }] }));
    const two = await file('two', `${config('a')}current-context: a\n`);
    const three = await file('three', `${config('b')}current-context: b\n`);
    const merged = await loadKubeconfig({ env: { KUBECONFIG: [one, '/nonexistent', two, three].join(delimiter) } });
    expect(merged.currentContext).toBe('a');
    expect(merged.users.get('a')).toEqual({ username: 'only' });
    expect([...merged.clusters.keys()].sort()).toEqual(['a', 'b']);
  });

  it('reads an explicit path alone, and that must exist', async () => {
    const one = await file('one', config('a'));
    const two = await file('two', config('b'));
    const loaded = await loadKubeconfig({ path: one, env: { KUBECONFIG: two } });
    expect([...loaded.contexts.keys()]).toEqual(['a']);
    await expect(loadKubeconfig({ path: '/nonexistent' })).rejects.toThrow('error loading config file "/nonexistent"');
  });

  it('warns when no file of the list exists, and is silent about a missing default', async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
    await loadKubeconfig({ env: { KUBECONFIG: ['/no/a', '/no/b'].join(delimiter) }, logger });
    await loadKubeconfig({ env: { HOME: '/no' }, logger });
    expect(warnings).toEqual(['Config not found: /no/a, /no/b']);
  });

  it.each([
    [['/no/a'], 'the file "/no/a" does not exist, which KUBECONFIG names'],
    [['/no/a', '/no/b'], 'the files "/no/a", "/no/b" do not exist, which KUBECONFIG names'],
    [[], 'the file "/no/.kube/config" does not exist, try setting KUBECONFIG'],
  ])('names the files that do not exist: %j', async (listed, text) => {
    const loaded = await loadKubeconfig({ env: { KUBECONFIG: listed.join(delimiter), HOME: '/no' } });
    expect(() => clientConfigOf(loaded)).toThrow(
      new TypeError(`invalid configuration: no configuration has been provided: ${text}`),
    );
  });

  it('names the files in which nothing is configured, and those whose data cannot be read', async () => {
    const empty = await file('empty', '');
    const bare = await file('bare', 'kind: Config');
    const at = (path: string): string => JSON.stringify(path);
    const message = 'invalid configuration: no configuration has been provided in';
    const byPath = await loadKubeconfig({ path: empty });
    expect(() => clientConfigOf(byPath)).toThrow(new TypeError(`${message} ${at(empty)}`));
    const listed = await loadKubeconfig({ env: { KUBECONFIG: [empty, '/nonexistent', bare].join(delimiter) } });
    expect(() => clientConfigOf(listed)).toThrow(new TypeError(`${message} ${at(empty)}, ${at(bare)}`));
    const broken = await file('broken', 'users: [{name: u, user: {client-key-data: "!"}}]');
    await expect(loadKubeconfig({ path: broken })).rejects.toThrow(
      `error loading config file ${at(broken)}: user "u": client-key-data: illegal base64 data`,
    );
  });

  it('names each file that is unreadable', async () => {
    const bad = await file('bad', 'clusters: 3');
    const worse = await file('worse', '{');
    const good = await file('good', config('a'));
    await expect(loadKubeconfig({ env: { KUBECONFIG: [good, bad].join(delimiter) } })).rejects.toThrow(
      `error loading config file ${JSON.stringify(bad)}: clusters must be a list`,
    );
    const both = loadKubeconfig({ env: { KUBECONFIG: [bad, worse].join(delimiter) } });
    await expect(both).rejects.toThrow(/^\[error loading config file .*bad.*, error loading config file .*worse/s);
  });

  it('resolves relative paths beside their file', async () => {
    const user = { 'client-certificate': 'a.crt', 'client-key': '/abs/a.key', tokenFile: '../token' };
    const path = await file(
      'sub/config',
      stringify({
        clusters: [{ name: 'c', cluster: { 'certificate-authority': 'ca.crt' } }],
        users: [
          { name: 'u', user },
          { name: 'beside', user: { exec: { command: './bin/login' } } },
          { name: 'in-path', user: { exec: { command: 'login' } } },
        ],
      }),
    );
    const { clusters, users } = await loadKubeconfig({ path });
    expect(clusters.get('c')?.['certificate-authority']).toBe(join(directory, 'sub/ca.crt'));
    expect(users.get('u')).toEqual({
      'client-certificate': join(directory, 'sub/a.crt'),
      'client-key': '/abs/a.key',
      tokenFile: join(directory, 'token'),
    });
    expect(users.get('beside')?.exec?.command).toBe(join(directory, 'sub/bin/login'));
    expect(users.get('in-path')?.exec?.command).toBe('login');
  });
});

describe('parseKubeconfig', () => {
  it.each([
    ['users: [{name: a}, {name: a}]', 'error converting users: duplicate name "a" in list'],
    ['[]', 'a kubeconfig must be a mapping'],
    ['kind: Pod', 'no kind "Pod" is registered for version "v1"'],
    ['contexts: [x]', 'an entry of contexts is not a mapping'],
    ...(
      [
        ['cluster', 'certificate-authority-data'],
        ['user', 'client-certificate-data'],
        ['user', 'client-key-data'],
      ] as const
    ).flatMap(([kind, field]) =>
      ['"!!!"', 'Qw', 'Qw=', '"Q w="', 'Q-_=', '-----BEGIN', '5'].map((data): [string, string] => [
        `${kind}s: [{name: x, ${kind}: {${field}: ${data}}}]`,
        `${kind} "x": ${field}: illegal base64 data`,
      ]),
    ),
  ])('refuses %s', (text, message) => {
    expect(() => parseKubeconfig(text)).toThrow(message);
  });

  it('reads an empty file and empty lists as nothing', () => {
    for (const text of ['', 'clusters: null\nusers: []\n']) expect(parseKubeconfig(text).clusters.size).toBe(0);
  });

  it('reads data over several lines, and none', () => {
    const { users } = parseKubeconfig(
      'users: [{name: x, user: {client-key-data: "Q0\\r\\nM=\\n", client-certificate-data: null}}]',
    );
    expect(users.get('x')?.['client-key-data']).toBe('Q0\r\nM=\n');
  });

  it('reads JSON, and a name like __proto__', () => {
    const { users } = parseKubeconfig('{"users":[{"name":"__proto__","user":{"token":"t"}}]}');
    expect(users.get('__proto__')).toEqual({ token: 't' });
  });
});

describe('clientConfigOf', () => {
  const of = (user: KubeconfigUser, cluster: Record<string, unknown> = {}) =>
    clientConfigOf(
      parseKubeconfig(
        stringify({
          'current-context': 'x',
          clusters: [{ name: 'c', cluster: { server: 'https://h', ...cluster } }],
          users: [{ name: 'u', user }],
          contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        }),
      ),
    );
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'login', interactiveMode: 'Never' };

  it.each([
    [{ token: 't' }, { token: 't' }],
    [
      { token: 't', tokenFile: '/f' },
      { token: 't', tokenFile: '/f' },
    ],
    [
      { username: 'a', password: 'b' },
      { username: 'a', password: 'b' },
    ],
    [{ 'client-certificate-data': base64('C'), 'client-key': '/k' }, { tls: { cert: 'C', keyFile: '/k' } }],
    [{ 'client-certificate-data': base64('C'), 'client-key-data': base64('K') }, { tls: { cert: 'C', key: 'K' } }],
    [{ exec }, { exec: { ...exec, args: [], env: [], clusterConfig: undefined } }],
    [
      { exec: { ...exec, newer: true } as typeof exec },
      { exec: { ...exec, args: [], env: [], clusterConfig: undefined } },
    ],
    [{ exec, token: 't' }, { token: 't' }],
    [
      { as: 'a', 'as-uid': '1', 'as-groups': ['g'], 'as-user-extra': { k: ['v'] } },
      { impersonate: { user: 'a', uid: '1', groups: ['g'], extra: { k: ['v'] } } },
    ],
  ] as readonly [KubeconfigUser, object][])('takes over the user %j', (user, expected) => {
    expect(of(user)).toEqual({ server: 'https://h', namespace: 'default', tls: {}, ...expected });
  });

  it.each([
    [{ 'certificate-authority-data': base64('CA') }, { tls: { ca: 'CA' } }],
    [{ 'certificate-authority': '/ca', 'tls-server-name': 'n' }, { tls: { caFile: '/ca', serverName: 'n' } }],
    [{ 'insecure-skip-tls-verify': true }, { tls: { insecureSkipVerify: true } }],
    [{ 'proxy-url': 'http://p:1' }, { tls: {}, proxyUrl: 'http://p:1' }],
    [{ 'proxy-url': 'socks5://p' }, { tls: {}, proxyUrl: 'socks5://p' }],
  ])('takes over the cluster %j', (cluster, expected) => {
    expect(of({}, cluster)).toEqual({ server: 'https://h', namespace: 'default', ...expected });
  });

  it('looks at the context in use only: another one may be broken', () => {
    const text = stringify({
      'current-context': 'good',
      clusters: [
        { name: 'c', cluster: { server: 'https://h' } },
        { name: 'bad', cluster: {} },
      ],
      users: [
        { name: 'u', user: { token: 't' } },
        { name: 'bad', user: { token: 't', username: 'x' } },
      ],
      contexts: [
        { name: 'good', context: { cluster: 'c', user: 'u', namespace: 'team' } },
        { name: 'bad', context: { cluster: 'bad', user: 'bad' } },
      ],
    });
    expect(clientConfigOf(parseKubeconfig(text))).toMatchObject({ server: 'https://h', namespace: 'team', token: 't' });
    expect(() => clientConfigOf(parseKubeconfig(text), 'bad')).toThrow('invalid configuration: [');
    const empty = text.replace('name: u\n    user:\n      token: t', 'name: u');
    expect(clientConfigOf(parseKubeconfig(empty))).toMatchObject({ server: 'https://h' });
  });

  it('hands the plugin the config of the cluster', () => {
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'x' } }];
    expect(of({ exec }, { extensions }).exec?.clusterConfig).toEqual({ audience: 'x' });
  });

  it.each([
    [{ 'auth-provider': { name: 'gcp' } }, {}, 'auth provider "gcp", which is not supported, use an exec plugin'],
    [{ token: 't', username: 'a' }, {}, 'more than one authentication method found for u; found [token basicAuth]'],
    [{ exec: { ...exec, command: '' } }, {}, 'command must be specified'],
    [{}, { server: '', 'tls-server-name': 'x' }, 'invalid configuration: no server found for cluster "c"'],
    [{ exec: { ...exec, apiVersion: '' } }, {}, 'apiVersion must be specified'],
    [{ exec: { ...exec, env: [{ name: '', value: 'x' }] } }, {}, 'env names must not be empty'],
    [{ exec: { ...exec, interactiveMode: '' } }, {}, 'interactiveMode must be specified'],
    [{ exec: { ...exec, interactiveMode: 'Maybe' } }, {}, 'unknown interactiveMode: "Maybe"'],
    [
      { exec, 'auth-provider': { name: 'oidc' } },
      {},
      'authProvider cannot be provided in combination with an exec plugin for u',
    ],
    [{ 'auth-provider': { name: 'oidc' } }, {}, 'Must provide idp-issuer-url'],
    [
      {
        'auth-provider': {
          name: 'oidc',
          config: { 'idp-issuer-url': 'https://i', 'client-id': 'c', 'idp-certificate-authority-data': '!' },
        },
      },
      {},
      'idp-certificate-authority-data: illegal base64 data',
    ],
    [{ 'as-groups': ['g'] }, {}, 'requesting uid, groups or user-extra for u without impersonating a user'],
    [{ 'as-uid': '1' }, {}, 'requesting uid, groups or user-extra for u without impersonating a user'],
    [{ 'as-user-extra': { k: ['v'] } }, {}, 'requesting uid, groups or user-extra for u without impersonating a user'],
    [{ 'client-certificate': '/c' }, {}, 'client-key-data or client-key must be specified for u to use the clientCert'],
    [
      { 'client-certificate': '/c', 'client-certificate-data': 'Qw==', 'client-key': '/k' },
      {},
      'client-cert-data and client-cert are both specified for u',
    ],
    [
      { 'client-certificate': '/c', 'client-key-data': 'Qw==', 'client-key': '/k' },
      {},
      'client-key-data and client-key are both specified for u',
    ],
    [
      {},
      { 'certificate-authority': '/ca', 'certificate-authority-data': 'Qw==' },
      'certificate-authority-data and certificate-authority are both specified for c',
    ],
    [
      { 'as-uid': '1', token: 't', username: 'a' },
      { 'proxy-url': 'ftp://p' },
      'invalid configuration: [more than one authentication method found for u; found [token basicAuth], only one is allowed, requesting uid',
    ],
    [{}, { 'proxy-url': 'socks4://p' }, 'unsupported scheme "socks4"'],
    [{}, { 'proxy-url': 'ftp://p' }, 'unsupported scheme "ftp"'],
    [{}, { 'proxy-url': 'p:1:2' }, 'must be http, https, or socks5'],
  ] as readonly [KubeconfigUser, Record<string, unknown>, string][])(
    'refuses user %j with cluster %j',
    (user, cluster, message) => {
      expect(() => of(user, cluster)).toThrow(message);
    },
  );

  it.each<[message: string, text: string, context?: string]>([
    ['no configuration has been provided', ''],
    ['no context chosen', config('a')],
    ['no context chosen', 'contexts: [{name: "", context: {cluster: a}}]'],
    ['context "b" does not exist', config('a'), 'b'],
    ['context was not found for specified context: b', `${config('a')}current-context: b\n`],
    ['cluster "a" was not found for context "a"', config('a', { clusters: [] }), 'a'],
    ['user "a" was not found for context "a"', config('a', { users: [] }), 'a'],
    ['cluster was not specified for context "a"', 'contexts: [{name: a, context: {user: a}}]', 'a'],
    ['cluster has no server defined', config('a', { clusters: [{ name: 'a', cluster: {} }] }), 'a'],
    [
      '[cluster was not specified for context "a", namespace "a b" for context "a" does not conform to the kubernetes DNS_LABEL rules]',
      'contexts: [{name: a, context: {namespace: a b}}]',
      'a',
    ],
  ])('refuses a context that cannot be used: %s', (message, text, context) => {
    expect(() => clientConfigOf(parseKubeconfig(text), context)).toThrow(message);
  });
});

describe('inClusterConfig', () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

  it('takes the address from the environment and the rest from the mounted account', async () => {
    const tokenFile = await file('token', 'secret\n');
    const caFile = await file('ca.crt', (await testAuthority()).ca);
    await file('namespace', 'team\n');
    expect(await isInCluster({ env, directory })).toBe(true);
    expect(await inClusterConfig({ env, directory })).toEqual({
      server: 'https://10.0.0.1:443',
      namespace: 'team',
      token: 'secret',
      tokenFile,
      tls: { caFile },
    });
  });

  it('brackets IPv6, goes without a CA and takes POD_NAMESPACE first', async () => {
    await file('token', 'secret');
    await file('namespace', 'team');
    const v6 = { ...env, KUBERNETES_SERVICE_HOST: 'fd00::1', POD_NAMESPACE: 'mine' };
    expect(await inClusterConfig({ env: v6, directory })).toMatchObject({
      server: 'https://[fd00::1]:443',
      namespace: 'mine',
    });
  });

  it('fails outside a pod', async () => {
    await expect(inClusterConfig({ env: {} })).rejects.toThrow(
      'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
    );
    await expect(inClusterConfig({ env, directory })).rejects.toThrow('ENOENT');
    expect([await isInCluster({ env: {}, directory }), await isInCluster({ env, directory })]).toEqual([false, false]);
  });
});
