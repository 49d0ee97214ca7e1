import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, connect } from '@kapstan/client';
import { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from '@kapstan/kinds/autoscaling/v1';
import { HorizontalPodAutoscaler } from '@kapstan/kinds/autoscaling/v2';
import { NetworkPolicy } from '@kapstan/kinds/networking.k8s.io/v1';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane } from './options/control-plane-options.ts';
import { unenforcedWarnings } from './unenforced-resources.ts';

const metadata = (name: string) => ({ name, namespace: 'default' });
const scale = { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' }, maxReplicas: 2 };

/** Writes an object of each kind without effect, in each version that it has. */
const writes: Readonly<Record<string, readonly ((client: Client) => Promise<unknown>)[]>> = {
  'horizontalpodautoscalers.autoscaling': [
    (client) => client.create(HorizontalPodAutoscalerV1, { metadata: metadata('v1'), spec: scale }),
    (client) => client.create(HorizontalPodAutoscaler, { metadata: metadata('v2'), spec: scale }),
  ],
  'networkpolicies.networking.k8s.io': [
    (client) => client.create(NetworkPolicy, { metadata: metadata('a'), spec: { podSelector: {} } }),
  ],
};

describe.each([true, false])('a server that warns of kinds without effect: %s', (warnsWithoutEffect) => {
  let dataDir: string;
  let controlPlane: ControlPlane;
  let client: Client;
  const warnings: string[] = [];
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'kapstan-unenforced-'));
    controlPlane = await startControlPlane({ dataDir, port: 0, warnsWithoutEffect });
    const { url, caCert, token } = controlPlane;
    const config = { server: url, tls: { ca: caCert }, token };
    client = await connect({ config, onWarning: (text) => void warnings.push(text) });
  });
  afterAll(async () => {
    await client.close();
    await controlPlane.close();
    await rm(dataDir, { recursive: true });
  });

  it.each([...unenforcedWarnings()])('tells who writes %s, and no other server does', async (id, warning) => {
    const ofKind = writes[id] ?? [];
    for (const write of ofKind) await write(client);
    expect(ofKind.length, 'a kind without a write above').toBeGreaterThan(0);
    expect(warnings.splice(0)).toEqual(warnsWithoutEffect ? ofKind.map(() => warning) : []);
  });
});

it('the kinds without effect have their reasons', () => {
  expect([...unenforcedWarnings().values()]).toEqual([
    'horizontalpodautoscalers.autoscaling are stored by this server without effect: it runs no controller that scales',
    'networkpolicies.networking.k8s.io are stored by this server without effect: it runs no network that could follow them',
  ]);
});
