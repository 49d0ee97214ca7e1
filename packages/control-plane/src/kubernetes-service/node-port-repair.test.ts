// Tests that one server repairs the node port allocations that several servers share.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, type ResourceClient, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { Event, Service } from '@kapstan/kinds/core/v1';
import type { Engine } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { NodePortRepair } from './node-port-repair.ts';
import { type SharedNodePorts, sharedNodePorts } from './shared-node-ports.ts';

// These tests start whole servers; the first start takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let dataDir: string;
let engine: Engine & { close(): Promise<void> };
let plane: ControlPlane;
let client: ResourceClient;
let clock: VirtualClock;
let nodePorts: SharedNodePorts;
let repair: NodePortRepair | undefined;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-ports-'));
  clock = new VirtualClock();
  engine = await openLmdbEngine({ dataDir: join(dataDir, 'store') });
  plane = await startControlPlane({ dataDir, engine, http: 'off' });
  client = plane.client;
  nodePorts = sharedNodePorts({
    engine,
    storedAs: { mediaType: 'application/vnd.kubernetes.protobuf', isShared: true },
  });
});
afterEach(async () => {
  await repair?.close();
  await nodePorts.close();
  await plane.close();
  await engine.close();
  await rm(dataDir, { recursive: true });
});

/** Writes one bit for each port from 30000 on; the last bit is the first port. */
const write = (bits: number): Promise<void> =>
  nodePorts.update((present) => ({
    ...(present ?? { apiVersion: 'v1', kind: 'RangeAllocation', metadata: {} }),
    range: '30000-32767',
    data: Buffer.from([bits]).toString('base64'),
  }));
const written = async (): Promise<number | undefined> => {
  const present = await nodePorts.read();
  return present === undefined ? undefined : (Buffer.from(present.data ?? '', 'base64')[0] ?? 0);
};
const make = (name: string, nodePort: number): Promise<Service> =>
  client.create(Service, {
    metadata: { name, namespace: 'default' },
    spec: { type: 'NodePort', ports: [{ port: 80, nodePort }] },
  });

async function start(ports: SharedNodePorts = nodePorts, logger: Logger = silentLogger): Promise<void> {
  repair = new NodePortRepair({ client, nodePorts: ports, clock, logger });
  await repair.start();
}

describe('node ports in a store that several servers have', () => {
  it('are made those of the services, which are told of what was not written down', async () => {
    await make('web', 30_003);
    await write(0b1);
    await start();
    // A port without a service stays allocated, because its service may be about to be created.
    expect(await written()).toBe(0b1001);
    await vi.waitFor(async () => {
      const events = await client.list(Event, { namespace: 'default' });
      expect(events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
        'PortNotAllocated: Port 30003 is not allocated; repairing',
      ]);
    }, 30_000);
  });

  it('are looked at every three minutes, and lose what no service has in the third look', async () => {
    await write(0b1);
    let reads = 0;
    const read = (): Promise<Awaited<ReturnType<SharedNodePorts['read']>>> => {
      reads++;
      return nodePorts.read();
    };
    await start({ ...nodePorts, read });
    for (const looks of [2, 3]) {
      expect(await written()).toBe(0b1);
      await vi.waitFor(async () => {
        await clock.advance(60_000);
        expect(reads).toBe(looks);
      }, 30_000);
    }
    await vi.waitFor(async () => expect(await written()).toBe(0), 30_000);
  });

  it('are left alone where nobody has written any down', async () => {
    await make('web', 30_003);
    await start();
    expect(await written()).toBeUndefined();
  });

  it('are not overwritten when another server took one meanwhile', async () => {
    await make('web', 30_003);
    await write(0b1);
    const errors: unknown[] = [];
    const read = async (): ReturnType<SharedNodePorts['read']> => {
      const present = await nodePorts.read();
      await write(0b11);
      return present;
    };
    await start(
      { ...nodePorts, read },
      { ...silentLogger, error: (_message, fields) => void errors.push(fields?.error) },
    );
    expect(await written()).toBe(0b11);
    expect(errors).toEqual([expect.stringContaining('the provided resource version does not match')]);
  });
});
