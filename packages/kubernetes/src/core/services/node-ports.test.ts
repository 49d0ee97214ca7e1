// Node ports that several servers share.
import { describe, expect, it } from 'vitest';
import type { NodePortRegistry, RangeAllocation } from '../../builtin/node-port-registry.ts';
import { NodePorts } from './node-ports.ts';

const range = { first: 30_000, last: 30_019 };
const readAll = async (): Promise<readonly number[]> => [];

/** A compare-and-set store; `interrupt` returns the record that another server writes during a change. */
class SharedRegistry implements NodePortRegistry {
  present: RangeAllocation | undefined;
  writes = 0;
  interrupt: (() => Promise<void>) | undefined;

  async update(change: (present: RangeAllocation | undefined) => RangeAllocation): Promise<void> {
    for (;;) {
      const before = this.present;
      const next = change(before);
      const interrupt = this.interrupt;
      this.interrupt = undefined;
      await interrupt?.();
      if (this.present !== before) continue;
      if (next !== before) this.writes++;
      this.present = next;
      return;
    }
  }
}

describe('node ports on a store that several servers have', () => {
  const take = (ports: NodePorts, port: number): Promise<boolean> =>
    ports.change({ dryRun: false, readAll }, (pool) => pool.take(port));

  it('are taken once, whichever server asks', async () => {
    const registry = new SharedRegistry();
    const [one, two] = [new NodePorts(range, registry), new NodePorts(range, registry)];
    expect([await take(one, 30_005), await take(two, 30_005), await take(two, 30_006)]).toEqual([true, false, true]);
    expect(registry.present).toMatchObject({ kind: 'RangeAllocation', range: '30000-30019', data: 'YA==' });
  });

  it('are looked at again when another server wrote meanwhile', async () => {
    const registry = new SharedRegistry();
    const [one, two] = [new NodePorts(range, registry), new NodePorts(range, registry)];
    await take(one, 30_001);
    registry.interrupt = async () => void (await take(two, 30_005));
    expect(await take(one, 30_005)).toBe(false);
  });

  it('begin as those of the services that are there, in the first server alone', async () => {
    const registry = new SharedRegistry();
    const found = { dryRun: false, readAll: async () => [30_002] };
    expect(await new NodePorts(range, registry).change(found, (pool) => pool.values())).toEqual([30_002]);
    const other = { dryRun: false, readAll: async () => [30_003] };
    expect(await new NodePorts(range, registry).change(other, (pool) => pool.values())).toEqual([30_002]);
  });

  it('stay as they are for a dry run', async () => {
    const registry = new SharedRegistry();
    const ports = new NodePorts(range, registry);
    await take(ports, 30_001);
    const { writes } = registry;
    expect(await ports.change({ dryRun: true, readAll }, (pool) => pool.take(30_002))).toBe(true);
    expect([registry.writes, await take(ports, 30_002)]).toEqual([writes, true]);
  });

  it('are not given out in a range that another server has otherwise', async () => {
    const registry = new SharedRegistry();
    await take(new NodePorts(range, registry), 30_001);
    await expect(take(new NodePorts({ first: 30_000, last: 30_100 }, registry), 30_002)).rejects.toThrow(
      'failed to allocate a nodePort: the provided range does not match the current range',
    );
  });

  it('are made again by the write after the one that found them gone', async () => {
    const registry = new SharedRegistry();
    const ports = new NodePorts(range, registry);
    await take(ports, 30_001);
    registry.present = undefined;
    await expect(take(ports, 30_002)).rejects.toThrow(
      'cannot allocate resources of type servicenodeportallocations at this time',
    );
    expect(await take(ports, 30_002)).toBe(true);
  });

  it('are tried again when the services could not be read', async () => {
    const ports = new NodePorts(range, new SharedRegistry());
    const failing = { dryRun: false, readAll: () => Promise.reject(new Error('not now')) };
    await expect(ports.change(failing, () => undefined)).rejects.toThrow('not now');
    expect(await take(ports, 30_002)).toBe(true);
  });
});
