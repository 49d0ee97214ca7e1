// Compares the recorded node ports with the ports of the services. Computes the right bitmap, and remarks about
// services. A server that shares its store runs it every few minutes. Source:
// pkg/registry/core/service/portallocator/controller.
import type { DeepReadonly } from '@kapstan/api';
import type { Service } from '@kapstan/kinds/core/v1';
import type { RangeAllocation } from '../../builtin/node-port-registry.ts';
import { NumberPool } from './number-pool.ts';

/** A remark about a service. */
export interface NodePortRemark {
  readonly service: DeepReadonly<Service>;
  readonly reason: 'PortNotAllocated' | 'PortAlreadyAllocated' | 'PortOutOfRange';
  readonly message: string;
}

/**
 * Number of checks after which a port without a service is freed; its service may still be on its way to the store.
 * Source: numRepairsBeforeLeakCleanup.
 */
const looksBeforeCleanup = 3;

/** Finds node ports that are in use twice or outside of the range. */
export class NodePortCheck {
  /** Ports without a service at the last check, and for how many more checks they are kept. */
  #leaks: ReadonlyMap<number, number> = new Map();

  /**
   * Returns the right allocation, given the recorded one and all services. The services must be read after the recorded
   * one.
   */
  look(
    present: RangeAllocation,
    services: readonly DeepReadonly<Service>[],
  ): { readonly next: RangeAllocation; readonly remarks: readonly NodePortRemark[] } {
    const range = { ...parseRange(present.range), reserved: 0 };
    const stored = NumberPool.parse(range, present.data ?? '');
    const rebuilt = new NumberPool(range);
    const remarks: NodePortRemark[] = [];
    for (const service of services) {
      for (const port of takenBy(service)) {
        const remark = (reason: NodePortRemark['reason'], message: string): void =>
          void remarks.push({ service, reason, message });
        if (!rebuilt.contains(port)) {
          remark(
            'PortOutOfRange',
            `Port ${port} is not within the port range ${present.range}; please recreate service`,
          );
        } else if (!rebuilt.take(port)) {
          remark('PortAlreadyAllocated', `Port ${port} was assigned to multiple services; please recreate service`);
        } else if (!stored.has(port)) {
          remark('PortNotAllocated', `Port ${port} is not allocated; repairing`);
        }
      }
    }
    this.#keepLeaks(stored, rebuilt);
    return { next: { ...present, data: rebuilt.format() }, remarks };
  }

  #keepLeaks(stored: NumberPool, rebuilt: NumberPool): void {
    const leaks = new Map<number, number>();
    for (const port of stored.values().filter((each) => !rebuilt.has(each))) {
      const looksLeft = this.#leaks.get(port) ?? looksBeforeCleanup - 1;
      if (looksLeft === 0) continue;
      leaks.set(port, looksLeft - 1);
      rebuilt.take(port);
    }
    this.#leaks = leaks;
  }
}

/** A number shared by two protocols counts once. */
function takenBy({ spec }: DeepReadonly<Service>): readonly number[] {
  const ports = (spec?.ports ?? []).map(({ nodePort = 0, protocol = 'TCP' }) => ({ nodePort, protocol }));
  const all = [...ports, { nodePort: spec?.healthCheckNodePort ?? 0, protocol: 'TCP' }];
  const protocols = new Map<number, Set<string>>();
  const taken = all.filter(({ nodePort, protocol }) => {
    const earlier = protocols.get(nodePort);
    if (earlier === undefined) protocols.set(nodePort, new Set([protocol]));
    else if (!earlier.has(protocol)) {
      earlier.add(protocol);
      return false;
    }
    return nodePort !== 0;
  });
  return taken.map(({ nodePort }) => nodePort);
}

/** Throws TypeError for text that is not a range. */
function parseRange(text: string): { readonly first: number; readonly size: number } {
  const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(text) ?? [];
  if (first === undefined || last === undefined) throw new TypeError(`no range of ports: ${text}`);
  return { first: Number(first), size: Number(last) - Number(first) + 1 };
}
