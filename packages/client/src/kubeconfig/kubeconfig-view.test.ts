import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseKubeconfig } from './kubeconfig.ts';
import { flattenKubeconfig, formatKubeconfig, minifyKubeconfig, redactKubeconfig } from './kubeconfig-view.ts';

const text = (changes: string = ''): string => `
current-context: federal
clusters:
  - {name: cow, cluster: {server: "http://cow:8080"}}
  - {name: chicken, cluster: {server: "http://chicken:8080", certificate-authority-data: Q0E=}}
contexts:
  - {name: federal, context: {cluster: cow, user: red}}
  - {name: shaker, context: {cluster: chicken, user: blue}}
users:
  - {name: red, user: {token: red-token}}
  - {name: blue, user: {token: blue-token, client-certificate-data: Qw==, client-key-data: Sw==}}
${changes}`;

describe('minifyKubeconfig', () => {
  it('keeps the current context with its cluster and user', () => {
    const small = minifyKubeconfig(parseKubeconfig(text()));
    expect([[...small.contexts.keys()], [...small.clusters.keys()], [...small.users.keys()]]).toEqual([
      ['federal'],
      ['cow'],
      ['red'],
    ]);
    expect(small.users.get('red')).toEqual({ token: 'red-token' });
  });

  it.each([
    ['no current context', { currentContext: '' }, 'current-context must exist in order to minify'],
    ['a missing context', { currentContext: 'gone' }, 'cannot locate context gone'],
    ['a missing cluster', { clusters: new Map() }, 'cannot locate cluster cow'],
    ['a missing user', { users: new Map() }, 'cannot locate user red'],
  ])('refuses %s', (_what, changes, message) => {
    expect(() => minifyKubeconfig({ ...parseKubeconfig(text()), ...changes })).toThrow(new TypeError(message));
  });
});

describe('flattenKubeconfig', () => {
  let directory = '';
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-kubeconfig-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('reads certificates and keys into the kubeconfig, and leaves token files to rotate', async () => {
    const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => join(directory, name));
    for (const path of [ca, cert, key]) await writeFile(path ?? '', `content of ${path?.slice(directory.length + 1)}`);
    const files = JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: 'https://h', 'certificate-authority': ca } }],
      users: [{ name: 'u', user: { 'client-certificate': cert, 'client-key': key, tokenFile: '/t' } }],
    });
    const { clusters, users } = await flattenKubeconfig(parseKubeconfig(files));
    const base64 = (name: string): string => Buffer.from(`content of ${name}`).toString('base64');
    expect(clusters.get('c')).toEqual({ server: 'https://h', 'certificate-authority-data': base64('ca') });
    expect(users.get('u')).toEqual({
      'client-certificate-data': base64('cert'),
      'client-key-data': base64('key'),
      tokenFile: '/t',
    });
  });

  it('refuses an entry with a file and data, and one whose file is missing', async () => {
    const both = { name: 'c', cluster: { 'certificate-authority': '/ca', 'certificate-authority-data': 'Q0E=' } };
    await expect(flattenKubeconfig(parseKubeconfig(JSON.stringify({ clusters: [both] })))).rejects.toThrow(
      new TypeError('cannot have values for both path and contents'),
    );
    const gone = { name: 'u', user: { 'client-key': join(directory, 'gone') } };
    await expect(flattenKubeconfig(parseKubeconfig(JSON.stringify({ users: [gone] })))).rejects.toThrow('ENOENT');
  });
});

describe('redactKubeconfig', () => {
  it('replaces data and secrets by a word, and changes nothing else', () => {
    const before = parseKubeconfig(text());
    const { clusters, users } = redactKubeconfig(before);
    expect(clusters.get('cow')).toEqual({ server: 'http://cow:8080' });
    expect(clusters.get('chicken')).toEqual({
      server: 'http://chicken:8080',
      'certificate-authority-data': 'DATA+OMITTED',
    });
    expect(users.get('blue')).toEqual({
      token: 'REDACTED',
      'client-certificate-data': 'DATA+OMITTED',
      'client-key-data': 'DATA+OMITTED',
    });
    expect(before.users.get('red')).toEqual({ token: 'red-token' });
  });

  it('leaves no secret of a plug-in, a provider or a password', () => {
    const user = {
      password: 'secret-1',
      exec: { command: 'login', env: [{ name: 'KEY', value: 'secret-2' }] },
      'auth-provider': { name: 'oidc', config: { 'client-id': 'app', 'refresh-token': 'secret-3' } },
    };
    const shown = redactKubeconfig(parseKubeconfig(JSON.stringify({ users: [{ name: 'u', user }] })));
    expect(formatKubeconfig(shown)).not.toContain('secret-');
    expect(shown.users.get('u')?.['auth-provider']?.config?.['client-id']).toBe('app');
  });
});

describe('formatKubeconfig', () => {
  it('writes what parseKubeconfig reads back into the same', () => {
    const kubeconfig = parseKubeconfig(text());
    expect(parseKubeconfig(formatKubeconfig(kubeconfig))).toEqual(kubeconfig);
  });
});
