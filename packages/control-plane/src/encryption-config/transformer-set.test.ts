import { type GroupResource, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterAll, describe, expect, it } from 'vitest';
import type { EncryptionConfiguration, ProviderConfiguration } from './configuration.ts';
import { TransformerSet } from './transformer-set.ts';

const key = (name: string): ProviderConfiguration => ({
  aesgcm: { keys: [{ name, secret: Buffer.alloc(32, name).toString('base64') }] },
});
const identity: ProviderConfiguration = { identity: {} };
const path = '/registry/x/a';
const plain = Buffer.from('{}');

const opened: TransformerSet[] = [];
afterAll(() => {
  for (const set of opened) set.close();
});

function setOf(...elements: readonly (readonly [string, ...ProviderConfiguration[]])[]): TransformerSet {
  const resources = elements.map(([names, ...providers]) => ({ resources: names.split(' '), providers }));
  const set = new TransformerSet({ resources } satisfies EncryptionConfiguration, {
    clock: new VirtualClock(),
    logger: silentLogger,
  });
  opened.push(set);
  return set;
}

/** Returns the prefix of a value written for a resource, such as "k8s:enc:aesgcm:v1:a:". */
function prefixFor(set: TransformerSet, resource: GroupResource): string {
  const stored = Buffer.from(set.find(resource).toStorage(plain, path)).toString('latin1');
  return /^k8s:enc:[a-z]+:v\d:[^:]+:/.exec(stored)?.[0] ?? stored;
}

describe('TransformerSet', () => {
  const set = setOf(
    ['secrets deployments.apps', key('exact')],
    ['*.apps', key('apps')],
    ['*.', key('core')],
    ['*.*', key('all')],
  );

  it.each<[string, string, string]>([
    ['secrets', '', 'exact'],
    ['configmaps', '', 'core'],
    ['deployments', 'apps', 'exact'],
    ['daemonsets', 'apps', 'apps'],
    ['secrets', 'example.com', 'all'],
    ['foos', 'example.com', 'all'],
  ])('writes %s of the group "%s" by the narrowest rule: %s', (resource, group, name) => {
    expect(prefixFor(set, { group, resource })).toBe(`k8s:enc:aesgcm:v1:${name}:`);
  });

  it('leaves in the clear what no rule names, and does not read it encrypted', () => {
    const narrow = setOf(['secrets', key('a')]);
    const pods = narrow.find({ group: '', resource: 'pods' });
    expect(pods.toStorage(plain, path)).toBe(plain);
    const stored = narrow.find({ group: '', resource: 'secrets' }).toStorage(plain, path);
    expect(() => pods.fromStorage(stored, path)).toThrow('identity transformer tried to read encrypted data');
  });

  it.each([
    ['aesgcm', 'aesgcm', 32],
    ['aescbc', 'aescbc', 16],
    ['secretbox', 'secretbox', 32],
  ] as const)(
    'writes %s under the prefix of Kubernetes with the name of its key, and misses that key by name',
    (provider, prefix, size) => {
      const keys = [{ name: 'key1', secret: Buffer.alloc(size, 'a').toString('base64') }];
      const one = setOf(['secrets', { [provider]: { keys } }, identity]).find({ group: '', resource: 'secrets' });
      const stored = one.toStorage(plain, path);
      expect(Buffer.from(stored).toString('latin1')).toContain(`k8s:enc:${prefix}:v1:key1:`);
      expect(one.fromStorage(stored, path)).toMatchObject({ isStale: false });
      expect(one.fromStorage(plain, path), 'from the time before').toMatchObject({ isStale: true });
      const other = setOf([
        'secrets',
        { [provider]: { keys: [{ name: 'key2', secret: keys[0]?.secret ?? '' }] } },
        identity,
      ]);
      expect(() => other.find({ group: '', resource: 'secrets' }).fromStorage(stored, path)).toThrow(
        /no matching key was found for the provided (AES|Secretbox) transformer/,
      );
      expect(() =>
        setOf(['secrets', identity]).find({ group: '', resource: 'secrets' }).fromStorage(stored, path),
      ).toThrow('no matching prefix found');
    },
  );

  it('adds the providers of a later element to those that a resource has', () => {
    const before = setOf(['secrets', key('old')]).find({ group: '', resource: 'secrets' });
    const both = setOf(['secrets', key('new')], ['secrets', key('old')]).find({ group: '', resource: 'secrets' });
    expect(both.fromStorage(before.toStorage(plain, path), path)).toEqual({ bytes: plain, isStale: true });
  });

  it.each<[string[], string]>([
    [['*.', 'secrets'], 'resource "secrets" is masked by earlier rule "*."'],
    [['*.apps', 'deployments.apps'], 'resource "deployments.apps" is masked by earlier rule "*.apps"'],
    [['*.*', 'secrets'], 'resource "secrets" is masked by earlier rule "*.*"'],
    [['*.*', '*.apps'], 'resource "*.apps" is masked by earlier rule "*.*"'],
    [['*.', '*.'], 'resource "*." is masked by earlier rule "*."'],
    [['configmaps *. secrets'], 'resource "secrets" is masked by earlier rule "*."'],
  ])('refuses %j, in this order', (rules, message) => {
    expect(() => setOf(...rules.map((names): [string, ProviderConfiguration] => [names, identity]))).toThrow(message);
  });

  it('has no use for KMS v1, and says what to do', () => {
    const kms = { apiVersion: 'v1', name: 'old', endpoint: 'unix:///a', timeoutMs: 3_000, cachesize: 1_000 };
    expect(() => setOf(['secrets', { kms }])).toThrow(
      'KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead. KMSv1 is not supported by this version of kapstan (KMS provider old).',
    );
  });

  it('is healthy without key services, and waits twice their time before they are closed', async () => {
    expect(await set.check()).toBeUndefined();
    expect(set.hasKeyServices).toBe(false);
    const kms = { apiVersion: 'v2', endpoint: 'unix:///nowhere', cachesize: undefined };
    const two = setOf(
      ['secrets', { kms: { ...kms, name: 'a', timeoutMs: 3_000 } }],
      ['configmaps', { kms: { ...kms, name: 'b', timeoutMs: 1_000 } }],
    );
    expect(two.hasKeyServices).toBe(true);
    expect(two.graceMs).toBe(8_000);
  });
});
