import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterRole, type PolicyRule } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';

let dataDir: string;
let controlPlane: ControlPlane;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-aggregation-'));
  controlPlane = await startControlPlane({ dataDir, http: 'off', controlLoops: ['clusterrole-aggregation'] });
});
afterEach(async () => {
  await controlPlane.close();
  await rm(dataDir, { recursive: true });
});

const rule = (resource: string, verbs = ['get']): PolicyRule => ({ verbs, apiGroups: [''], resources: [resource] });

function create(name: string, labels: Record<string, string>, rest: Partial<ClusterRole>): Promise<ClusterRole> {
  const head = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name, labels } };
  return controlPlane.client.create(ClusterRole, { ...head, ...rest });
}

const read = (name: string): Promise<ClusterRole> => controlPlane.client.get(ClusterRole, { name });

function eventually(name: string, rules: readonly PolicyRule[]): Promise<void> {
  return vi.waitFor(async () => expect((await read(name)).rules ?? []).toEqual(rules), { timeout: 8000, interval: 5 });
}

const selecting = (...values: string[]): Partial<ClusterRole> => ({
  aggregationRule: { clusterRoleSelectors: values.map((to) => ({ matchLabels: { to } })) },
});

it('gathers the rules of the roles that are selected: selector by selector, by name, each once, not its own', async () => {
  await create('z', { to: 'all' }, { rules: [rule('pods'), rule('secrets')] });
  await create('a', { to: 'all' }, { rules: [rule('nodes'), rule('pods')] });
  await create('y', { to: 'more' }, { rules: [rule('services'), rule('pods')] });
  await create('no', { to: 'nobody' }, { rules: [rule('events')] });
  await create('sum', { to: 'all' }, { ...selecting('all', 'more'), rules: [rule('gone')] });
  await eventually('sum', [rule('nodes'), rule('pods'), rule('secrets'), rule('services')]);
  const managers = (await read('sum')).metadata?.managedFields?.map(({ manager }) => manager);
  expect(managers).toContain('clusterrole-aggregation-controller');
});

it('follows what is added, changed and deleted, also through a role that is gathered itself', async () => {
  await create('inner', { to: 'outer' }, selecting('inner'));
  await create('outer', {}, selecting('outer'));
  await create('a', { to: 'inner' }, { rules: [rule('pods')] });
  await eventually('outer', [rule('pods')]);
  await controlPlane.client.update(ClusterRole, { ...(await read('a')), rules: [rule('pods', ['list'])] });
  await eventually('outer', [rule('pods', ['list'])]);
  await controlPlane.client.delete(ClusterRole, { name: 'a' });
  await eventually('outer', []);
});

it('fills the default roles view, edit and admin, and stops writing when nothing changes', async () => {
  await vi.waitFor(async () => {
    const [view, edit, admin] = await Promise.all(['view', 'edit', 'admin'].map(read));
    expect(view?.rules?.length).toBeGreaterThan(5);
    expect(edit?.rules).toEqual(expect.arrayContaining(view?.rules ?? []));
    expect(admin?.rules).toEqual(expect.arrayContaining(edit?.rules ?? []));
  }, 8000);
  const before = (await read('admin')).metadata?.resourceVersion;
  await create('other', {}, { rules: [rule('pods')] });
  await create('last', { to: 'sum' }, { rules: [rule('pods')] });
  await create('sum', {}, selecting('sum'));
  await eventually('sum', [rule('pods')]);
  expect((await read('admin')).metadata?.resourceVersion).toBe(before);
});
