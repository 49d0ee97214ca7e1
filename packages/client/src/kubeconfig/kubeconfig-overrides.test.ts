import { describe, expect, it } from 'vitest';
import { connect } from '../connect.ts';
import { parseKubeconfig } from './kubeconfig.ts';
import { clientConfigOf } from './kubeconfig-client.ts';
import { type KubeconfigOverrides, overrideInCluster, overrideKubeconfig } from './kubeconfig-overrides.ts';

const kubeconfig = parseKubeconfig(`
current-context: clean
clusters:
  - {name: clean, cluster: {server: "https://clean:443", tls-server-name: pinned, certificate-authority-data: Q0E=}}
  - {name: modify, cluster: {server: "https://anything.com:8080"}}
contexts:
  - {name: clean, context: {cluster: clean, user: clean, namespace: kept}}
  - {name: modify, context: {cluster: modify, user: modify, namespace: modify}}
users:
  - {name: clean, user: {client-certificate-data: Qw==, client-key-data: Sw==}}
  - {name: modify, user: {token: the-token}}
`);
const resultOf = (overrides: KubeconfigOverrides, context?: string) =>
  clientConfigOf(overrideKubeconfig(kubeconfig, overrides, context));

describe('overrideKubeconfig', () => {
  it('changes the context that is asked for, makes it the current one, and leaves the others alone', () => {
    const overrides = {
      namespace: 'foobar',
      clusterName: 'modify',
      userName: 'modify',
      cluster: { server: 'https://localhost:8081' },
      user: { token: 'modified-token' },
    };
    const merged = overrideKubeconfig(kubeconfig, overrides, 'modify');
    expect(merged.currentContext).toBe('modify');
    expect(clientConfigOf(merged)).toMatchObject({
      server: 'https://localhost:8081',
      namespace: 'foobar',
      token: 'modified-token',
    });
    expect(merged.clusters.get('clean')).toEqual(kubeconfig.clusters.get('clean'));
    expect(merged.contexts.get('clean')).toEqual(kubeconfig.contexts.get('clean'));
    expect(kubeconfig.users.get('modify')).toEqual({ token: 'the-token' });
  });

  it('keeps the namespace of the context unless another one is given', () => {
    expect(resultOf({}).namespace).toBe('kept');
    expect(resultOf({ namespace: '' }).namespace).toBe('kept');
    expect(resultOf({ namespace: 'overridden-namespace' }).namespace).toBe('overridden-namespace');
  });

  it.each([
    ['namespaces/foo', 'foo'],
    ['NameSpaces/foo', 'foo'],
    ['namespace/foo', 'foo'],
    ['NS/foo', 'foo'],
  ])('reads the namespace %s as %s', (text, name) => {
    expect(resultOf({ namespace: text }).namespace).toBe(name);
  });

  it.each(['namespaces/', 'ns/'])('leaves %s as it is, which is no namespace', (text) => {
    expect(() => resultOf({ namespace: text })).toThrow('does not conform to the kubernetes DNS_LABEL rules');
  });

  it.each<[KubeconfigOverrides['user'], object]>([
    [
      { 'client-certificate': '/c', 'client-key': '/k' },
      { certFile: '/c', keyFile: '/k' },
    ],
    [
      { 'client-certificate-data': 'TmV3', 'client-key-data': 'TmV3' },
      { cert: 'New', key: 'New' },
    ],
    [{ 'client-key': '/k' }, { cert: 'C', keyFile: '/k' }],
  ])('replaces both forms of what %j gives: file and data', (user, tls) => {
    expect(resultOf({ user: user ?? {} }).tls).toEqual({ ca: 'CA', serverName: 'pinned', ...tls });
  });

  it('drops the authority of the cluster where trust is switched off', () => {
    expect(resultOf({ cluster: { 'insecure-skip-tls-verify': true } }).tls).toEqual({
      insecureSkipVerify: true,
      serverName: 'pinned',
      cert: 'C',
      key: 'K',
    });
  });

  it('takes a CA file in place of the data of the cluster', () => {
    expect(resultOf({ cluster: { 'certificate-authority': '/my.ca' } }).tls).toEqual({
      caFile: '/my.ca',
      serverName: 'pinned',
      cert: 'C',
      key: 'K',
    });
  });

  it('forgets the server name of the kubeconfig with its server', () => {
    expect(resultOf({ cluster: { server: 'https://something' } }).tls).not.toHaveProperty('serverName');
    const named = { server: 'https://something', 'tls-server-name': 'other' };
    expect(resultOf({ cluster: named }).tls).toMatchObject({ serverName: 'other' });
  });

  it('replaces lists and structures whole, and keeps what an empty value would override', () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'a', interactiveMode: 'Never' };
    const base = parseKubeconfig(
      JSON.stringify({
        'current-context': 'c',
        clusters: [{ name: 'c', cluster: { server: 'https://h' } }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        users: [{ name: 'u', user: { exec: { ...exec, args: ['x', 'y'] }, 'as-groups': ['g1', 'g2'], as: 'me' } }],
      }),
    );
    const user = { exec: { ...exec, command: 'b' }, 'as-groups': ['g3'], as: '' };
    expect(overrideKubeconfig(base, { user }).users.get('u')).toEqual({
      exec: { ...exec, command: 'b' },
      'as-groups': ['g3'],
      as: 'me',
    });
  });

  it('makes a configuration of overrides alone', () => {
    const merged = overrideKubeconfig(parseKubeconfig(''), { cluster: { server: 'https://h' }, user: { token: 't' } });
    expect(clientConfigOf(merged)).toMatchObject({ server: 'https://h', token: 't', namespace: 'default' });
  });

  it.each<[KubeconfigOverrides, string | undefined, string]>([
    [{}, 'gone', 'context "gone" does not exist'],
    [{ clusterName: 'gone' }, undefined, 'cluster "gone" does not exist'],
    [{ userName: 'gone' }, undefined, 'auth info "gone" does not exist'],
  ])('refuses %j with the context %s', (overrides, context, message) => {
    expect(() => overrideKubeconfig(kubeconfig, overrides, context)).toThrow(new TypeError(message));
  });

  it('leaves a current-context without an entry to the check of the configuration', () => {
    const broken = parseKubeconfig('current-context: b');
    expect(() => clientConfigOf(overrideKubeconfig(broken, { namespace: 'n' }))).toThrow(
      'context was not found for specified context: b',
    );
  });
});

describe('overrideInCluster', () => {
  const config = {
    server: 'https://pod:443',
    namespace: 'of-pod',
    token: 'mounted',
    tokenFile: '/mounted/token',
    tls: { caFile: '/mounted/ca.crt' },
  };

  it.each<[KubeconfigOverrides, object]>([
    [{}, config],
    [{ cluster: { server: 'https://other' } }, { ...config, server: 'https://other' }],
    [{ cluster: { 'certificate-authority': '/ca' } }, { ...config, tls: { caFile: '/ca' } }],
    [{ namespace: 'ns/other' }, { ...config, namespace: 'other' }],
  ])('takes over %j', (overrides, expected) => {
    expect(overrideInCluster(config, overrides)).toEqual(expected);
  });

  it.each<[KubeconfigOverrides['user'], object]>([
    [{ token: 't' }, { token: 't' }],
    [{ tokenFile: '/t' }, { tokenFile: '/t' }],
  ])('goes without the mounted token when given %j', (user, expected) => {
    const { token, tokenFile, ...others } = config;
    expect([token, tokenFile]).toEqual(['mounted', '/mounted/token']);
    expect(overrideInCluster(config, { user: user ?? {} })).toEqual({ ...others, ...expected });
  });
});

describe('connect with overrides', () => {
  it('refuses names that nobody knows, and overrides beside a whole configuration', async () => {
    await expect(connect({ overrides: { nameSpace: 'x' } as KubeconfigOverrides })).rejects.toThrow('nameSpace');
    await expect(connect({ config: { server: 'https://h' }, overrides: {} })).rejects.toThrow(
      'config may not be combined with kubeconfig, context, overrides or inCluster',
    );
  });

  it('uses them where there is no kubeconfig at all', async () => {
    const overrides = { cluster: { server: 'https://127.0.0.1:1' }, namespace: 'mine' };
    const client = await connect({ overrides, env: { HOME: '/nonexistent' }, inCluster: false });
    expect(client.namespace).toBe('mine');
    await client.close();
  });
});
