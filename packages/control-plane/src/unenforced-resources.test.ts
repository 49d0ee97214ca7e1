import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@kapstan/client';
import { NetworkPolicy } from '@kapstan/kinds/networking.k8s.io/v1';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane } from './options/control-plane-options.ts';

let dataDir: string;
let controlPlane: ControlPlane | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-unenforced-'));
});
afterEach(async () => {
  await controlPlane?.close();
  await rm(dataDir, { recursive: true });
});

const told =
  'networkpolicies.networking.k8s.io are stored by this server without effect: it runs no network that could follow them';

it.each([
  [true, [told]],
  [false, []],
])(
  'clients that write what nothing acts on are warned, if that is asked for: %s',
  async (warnsWithoutEffect, expected) => {
    controlPlane = await startControlPlane({ dataDir, port: 0, warnsWithoutEffect });
    const { url, caCert, token } = controlPlane;
    const warnings: string[] = [];
    const config = { server: url, tls: { ca: caCert }, token };
    await using client = await connect({ config, onWarning: (text) => void warnings.push(text) });
    await client.create(NetworkPolicy, { metadata: { name: 'a', namespace: 'default' }, spec: { podSelector: {} } });
    expect(warnings).toEqual(expected);
  },
);
