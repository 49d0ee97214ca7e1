import { type KubernetesObject, type LogFields, type Logger, type ResourceClient, silentLogger } from '@kapstan/api';
import { FakeListerWatcher, LeakCheck, settle, VirtualClock } from '@kapstan/api/testing';
import { rbacAuthorizer } from '@kapstan/apiserver';
import { RbacPolicy } from '@kapstan/kubernetes';
import { expect, it, onTestFinished } from 'vitest';
import { policyFeed } from '../access/access-control.ts';

/** Opens a feed of roles and bindings over sources, one for each kind, which the test changes. */
function open() {
  const clock = new VirtualClock();
  const sources = new Map(
    ['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'].map((kind) => [
      kind,
      new FakeListerWatcher<KubernetesObject>(),
    ]),
  );
  const client = { listerWatcher: ({ kind }: { kind: string }) => sources.get(kind) } as unknown as ResourceClient;
  const lines: [string, LogFields | undefined][] = [];
  const warn = (text: string, fields?: LogFields): void => void lines.push([text, fields]);
  const logger: Logger = { ...silentLogger, warn };
  const policy = new RbacPolicy();
  const leaks = new LeakCheck({ clock });
  const feed = policyFeed(policy, { client, clock, logger });
  onTestFinished(() => feed.close());
  const may = (verb: string): boolean => {
    const user = { name: 'alice', groups: [] };
    const where = { group: '', version: 'v1', namespace: '', resource: 'pods', subresource: '', name: '' };
    const answer = rbacAuthorizer(policy).authorize({ type: 'resource', user, verb, ...where });
    return 'decision' in answer && answer.decision === 'allow';
  };
  const source = (kind: string) => sources.get(kind) as FakeListerWatcher<KubernetesObject>;
  return { clock, feed, may, source, lines, leaks };
}

const role = (verb: string): KubernetesObject =>
  ({ metadata: { name: 'r' }, rules: [{ verbs: [verb], apiGroups: [''], resources: ['pods'] }] }) as KubernetesObject;
const binding = {
  metadata: { name: 'b' },
  roleRef: { kind: 'ClusterRole', name: 'r' },
  subjects: [{ kind: 'User', name: 'alice' }],
} as KubernetesObject;

it('fills the policy with what is stored, then follows each change', async () => {
  const { feed, may, source } = open();
  source('ClusterRole').add(role('get'));
  source('ClusterRoleBinding').add(binding);
  feed.start();
  await feed.whenSynced();
  expect([may('get'), may('list')]).toEqual([true, false]);
  source('ClusterRole').modify(role('list'));
  await settle();
  expect([may('get'), may('list')]).toEqual([false, true]);
  source('ClusterRoleBinding').delete({ namespace: '', name: 'b' });
  await settle();
  expect(may('list')).toBe(false);
});

it('keeps what was known while a kind cannot be read, says so, and takes over what changed meanwhile', async () => {
  const { clock, feed, may, source, lines } = open();
  source('ClusterRole').add(role('get'));
  source('ClusterRoleBinding').add(binding);
  feed.start();
  await feed.whenSynced();
  const roles = source('ClusterRole');
  for (let i = 0; i < 2; i++) for (const verb of ['watch', 'list'] as const) roles.failNext(verb, new Error('no disk'));
  roles.resetWatches(new Error('no disk'));
  roles.modify(role('list'));
  await settle();
  expect([may('get'), may('list')]).toEqual([true, false]);
  expect(lines[0]).toEqual([
    'could not watch roles or bindings; retrying',
    { resource: 'clusterroles', error: 'Error: no disk' },
  ]);
  for (let i = 0; i < 20; i++) {
    await clock.advance(5000);
    await settle();
  }
  expect([may('get'), may('list')]).toEqual([false, true]);
});

it('leaves nothing behind (I9), and rejects those who wait for it', async () => {
  const { feed, source, leaks } = open();
  source('Role').failNext('watch', new Error('never'));
  source('Role').failNext('list', new Error('never'));
  feed.start();
  const waiting = expect(feed.whenSynced()).rejects.toThrow();
  await settle();
  await feed.close();
  await feed.close();
  await waiting;
  await leaks.assertNone();
});
