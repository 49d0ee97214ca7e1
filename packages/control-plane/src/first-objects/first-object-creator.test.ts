import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '@kapstan/api/testing';
import { AdmissionFunctions, admit, GenericStore } from '@kapstan/apiserver';
import {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { FlowSchema } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import { ClusterRole } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { MemoryEngine } from '@kapstan/storage';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from '../options/control-plane-options.ts';

const nowMs = Date.UTC(2026, 3, 5, 6, 7, 8);
const now = '2026-04-05T06:07:08Z';
const preparedTypes = [
  'namespaces',
  'priorityclasses',
  'clusterroles',
  'clusterrolebindings',
  'roles',
  'rolebindings',
  'prioritylevelconfigurations',
  'flowschemas',
];

const podSecurity = { apiVersion: 'pod-security.admission.config.k8s.io/v1', kind: 'PodSecurityConfiguration' };

let dataDir: string;
let engines: MemoryEngine[];
let planes: ControlPlane[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-prepared-'));
  engines = [];
  planes = [];
});
afterEach(async () => {
  for (const plane of planes) await plane.close();
  for (const engine of engines) await engine.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(options: Partial<ControlPlaneOptions> = {}): Promise<ControlPlane> {
  const plane = await startControlPlane({ dataDir, identity: 'off', ...options });
  planes.push(plane);
  return plane;
}

/** Returns the stored objects of the kinds that are prepared, by key, with each uid replaced. */
async function storedBy(options: Partial<ControlPlaneOptions>): Promise<ReadonlyMap<string, string>> {
  const clock = new VirtualClock({ startMs: nowMs });
  const engine = new MemoryEngine({ clock });
  engines.push(engine);
  await start({ engine, clock, ...options });
  const { kvs } = await engine.range({ start: '/registry/', end: '/registry0' });
  const uid = /"uid":"[0-9a-f-]{36}"/;
  return new Map(
    kvs
      .filter(({ key }) => preparedTypes.includes(key.split('/')[2] ?? ''))
      .map(({ key, value }) => [key, new TextDecoder().decode(value).replace(uid, '"uid":"u"')]),
  );
}

describe('the first objects of a new store', () => {
  it('are those that the checks of a create make, byte by byte', async () => {
    const seen = new Set<string>();
    const watches = admit('*', {
      validate: ({ operation, object }) => {
        if (operation === 'CREATE') seen.add(`${object?.kind}/${object?.metadata?.name}`);
        return undefined;
      },
    });
    const checked = await storedBy({ admission: [watches] });
    expect(checked.size).toBe(158);
    expect(seen.size).toBeGreaterThan(140);
    // When this fails, run packages/control-plane/scripts/write-first-objects.mjs after a build.
    expect(await storedBy({})).toEqual(checked);
    expect(checked.get('/registry/clusterroles/view')).toContain(`"creationTimestamp":"${now}"`);
  });

  it.each<[object, number]>([
    [{}, 158],
    [{ admission: { disabled: ['ServiceAccount'], functions: [] } }, 158],
    [{ admission: { enabled: ['AlwaysPullImages'] } }, 0],
    [{ admission: { plugins: [{ name: 'Own' }] } }, 0],
    [{ admission: { configurations: { PodSecurity: podSecurity } } }, 0],
  ])('are prepared unless something of the program may change or refuse them: %j', async (options, count) => {
    const prepared = vi.spyOn(GenericStore.prototype, 'createPrepared');
    try {
      await start(options);
      expect(prepared).toHaveBeenCalledTimes(count);
    } finally {
      prepared.mockRestore();
    }
  });

  it('have uids of their own', async () => {
    const plane = await start({ http: 'off' });
    const { items } = await plane.client.listPage(ClusterRole);
    expect(new Set(items.map(({ metadata }) => metadata?.uid)).size).toBe(items.length);
  });
});

it('passes an object that somebody deleted through the policies that have come since', async () => {
  const first = await start({ http: 'off' });
  const { client } = first;
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const expression = 'Object{metadata: Object.metadata{labels: {"seen": "yes"}}}';
  await client.create(MutatingAdmissionPolicy, {
    apiVersion,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: 'marks' },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['rbac.authorization.k8s.io'], apiVersions: ['*'], operations: ['CREATE'], resources: ['*'] },
        ],
      },
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
      reinvocationPolicy: 'Never',
    },
  });
  await client.create(MutatingAdmissionPolicyBinding, {
    apiVersion,
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name: 'marks' },
    spec: { policyName: 'marks' },
  });
  await client.delete(ClusterRole, { name: 'view' });
  await first.close();
  const { client: again } = await start({ http: 'off' });
  expect((await again.get(ClusterRole, { name: 'view' })).metadata?.labels).toHaveProperty('seen', 'yes');
});

it('creates a flow schema that is missing later through admission', async () => {
  const clock = new VirtualClock({ startMs: nowMs });
  const functions = new AdmissionFunctions([], clock);
  const { client } = await start({ clock, admission: { functions } });
  const created: (string | undefined)[] = [];
  functions.add(admit(FlowSchema, { validate: ({ object }) => void created.push(object?.metadata?.name) }));
  const name = 'service-accounts';
  await client.delete(FlowSchema, { name });
  await clock.advance(61_000);
  expect((await client.get(FlowSchema, { name })).metadata?.creationTimestamp).not.toBe(now);
  expect(created).toContain(name);
});
