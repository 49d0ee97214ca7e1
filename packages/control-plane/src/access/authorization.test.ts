import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogFields, silentLogger, toRevision } from '@kapstan/api';
import { SubjectAccessReview } from '@kapstan/kinds/authorization.k8s.io/v1';
import { ClusterRole, ClusterRoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuthorizationMode } from '../authorization/authorization-settings.ts';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from '../options/control-plane-options.ts';

let dataDir: string;
let controlPlane: ControlPlane | undefined;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-authorization-'));
});
afterEach(async () => {
  await controlPlane?.close();
  controlPlane = undefined;
  await rm(dataDir, { recursive: true });
});

async function start(options: Partial<ControlPlaneOptions> = {}): Promise<ControlPlane> {
  await controlPlane?.close();
  controlPlane = await startControlPlane({ dataDir, http: 'off', ...options });
  return controlPlane;
}

const group = 'rbac.authorization.k8s.io';
const role = {
  apiVersion: `${group}/v1`,
  kind: 'ClusterRole',
  metadata: { name: 'r' },
  rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
};
const binding = {
  apiVersion: `${group}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: 'b' },
  roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'r' },
  subjects: [{ kind: 'User', apiGroup: group, name: 'alice' }],
};

async function review({ client }: ControlPlane, user: string, groups: string[] = []): Promise<unknown> {
  const answer = await client.create(SubjectAccessReview, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, groups, resourceAttributes: { verb: 'get', resource: 'pods' } },
  });
  return answer.status;
}

const byRole = { allowed: true, reason: 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "alice"' };

describe('a control plane', () => {
  it('decides by roles: those of every server, and from its start those that were stored before', async () => {
    const first = await start();
    expect(await review(first, 'alice')).toEqual({ allowed: false });
    expect(await review(first, 'm', ['system:masters'])).toEqual({ allowed: true });
    const reason =
      'RBAC: allowed by ClusterRoleBinding "system:node-proxier" of ClusterRole "system:node-proxier" to User "system:kube-proxy"';
    const asked = { verb: 'list', resource: 'services' };
    const proxy = await first.client.create(SubjectAccessReview, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'system:kube-proxy', resourceAttributes: asked },
    });
    expect(proxy.status).toEqual({ allowed: true, reason });
    await first.client.create(ClusterRole, role);
    await first.client.create(ClusterRoleBinding, binding);
    expect(await review(await start(), 'alice')).toEqual(byRole);
  });

  it.each<[AuthorizationMode[], unknown]>([
    [['RBAC'], byRole],
    [['AlwaysAllow'], { allowed: true }],
    [['AlwaysAllow', 'RBAC'], { allowed: true }],
    [['RBAC', 'AlwaysAllow'], byRole],
  ])('asks %j in this order', async (authorization, answer) => {
    const { client } = await start();
    await client.create(ClusterRole, role);
    await client.create(ClusterRoleBinding, binding);
    const next = await start({ authorization });
    expect(await review(next, 'alice')).toEqual(answer);
    expect(await review(next, 'bob')).toEqual({ allowed: authorization.includes('AlwaysAllow') });
  });

  it('starts for its admins where a role cannot be read, and says so', async () => {
    const engine = await openLmdbEngine({ dataDir: join(dataDir, 'own') });
    const key = '/registry/clusterroles/broken';
    const value = new TextEncoder().encode('{"kind":');
    await engine.commit({ key, expectedRevision: toRevision(0), change: { type: 'put', value } });
    const errors: [string, LogFields | undefined][] = [];
    const logger = { ...silentLogger, error: (text: string, fields?: LogFields) => void errors.push([text, fields]) };
    const running = await start({ engine, logger, storageInitializationTimeoutMs: 100 });
    expect(errors.map(([text]) => text)).toContain('could not update the default roles and bindings; retrying');
    expect(await review(running, 'alice')).toMatchObject({ allowed: false });
    expect(await review(running, 'm', ['system:masters'])).toEqual({ allowed: true });
    await controlPlane?.close();
    controlPlane = undefined;
    await engine.close();
  });
});
