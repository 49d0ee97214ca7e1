// Errors found in recorded node ports.
import type { Service, ServicePort } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import type { RangeAllocation } from '../../builtin/node-port-registry.ts';
import { NodePortCheck } from './node-port-check.ts';
import { NumberPool } from './number-pool.ts';

const range = { first: 30_000, size: 20, reserved: 0 };
const written = (...ports: number[]): RangeAllocation => ({
  range: '30000-30019',
  data: new NumberPool(range, ports).format(),
});
const service = (ports: readonly Partial<ServicePort>[], healthCheckNodePort?: number): Service => ({
  metadata: { name: 's', namespace: 'default' },
  spec: { ports: ports.map((each) => ({ port: 80, ...each })), ...(healthCheckNodePort && { healthCheckNodePort }) },
});
const looked = (check: NodePortCheck, present: RangeAllocation, services: Service[]) => {
  const { next, remarks } = check.look(present, services);
  return {
    ports: NumberPool.parse(range, next.data ?? '').values(),
    said: remarks.map(({ reason, message }) => `${reason}: ${message}`),
  };
};

describe('the node ports that are written down', () => {
  it.each([
    { what: 'right', present: [30_001], services: [service([{ nodePort: 30_001 }])], ports: [30_001], said: [] },
    {
      what: 'less than the services have',
      present: [],
      services: [service([{ nodePort: 30_001 }], 30_002)],
      ports: [30_001, 30_002],
      said: [
        'PortNotAllocated: Port 30001 is not allocated; repairing',
        'PortNotAllocated: Port 30002 is not allocated; repairing',
      ],
    },
    {
      what: 'those of two services',
      present: [30_001],
      services: [service([{ nodePort: 30_001 }]), service([{ nodePort: 30_001 }])],
      ports: [30_001],
      said: ['PortAlreadyAllocated: Port 30001 was assigned to multiple services; please recreate service'],
    },
    {
      what: 'without those of another range',
      present: [],
      services: [service([{ nodePort: 29_000 }])],
      ports: [],
      said: ['PortOutOfRange: Port 29000 is not within the port range 30000-30019; please recreate service'],
    },
    {
      what: 'one for two protocols',
      present: [30_001],
      services: [service([{ nodePort: 30_001 }, { nodePort: 30_001, protocol: 'UDP' }])],
      ports: [30_001],
      said: [],
    },
  ])('are put right when they are $what', ({ present, services, ports, said }) => {
    expect(looked(new NodePortCheck(), written(...present), services)).toEqual({ ports, said });
  });

  it('keep a port of no service for two looks, and lose it in the third', () => {
    const check = new NodePortCheck();
    const ports = [1, 2, 3].map(() => looked(check, written(30_005), []).ports);
    expect(ports).toEqual([[30_005], [30_005], []]);
  });

  it('keep one that a service had meanwhile for two looks again', () => {
    const check = new NodePortCheck();
    looked(check, written(30_005), []);
    looked(check, written(30_005), []);
    looked(check, written(30_005), [service([{ nodePort: 30_005 }])]);
    expect(looked(check, written(30_005), []).ports).toEqual([30_005]);
  });
});
