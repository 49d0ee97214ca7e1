// ServiceUsage measures services: their number, their node ports, and load balancers. Made by quota-evaluators.ts. Source:
// pkg/quota/v1/evaluator/core/services.go.
import type { DeepReadonly, GroupResource } from '@kapstan/api';
import { quantityOf, type SlicedWork } from '@kapstan/api/internal';
import type { Service } from '@kapstan/kinds/core/v1';
import { type Amounts, one, zero } from './amounts.ts';
import { type MeasuredObject, type MeasuredRequest, objectCountName, type QuotaEvaluator } from './quota-evaluator.ts';

const resource: GroupResource = { group: '', resource: 'services' };
const countName = objectCountName(resource);
const names: ReadonlySet<string> = new Set([countName, 'services', 'services.nodeports', 'services.loadbalancers']);

export class ServiceUsage implements QuotaEvaluator {
  readonly resource: GroupResource = resource;

  /** The type of a service may change. */
  handles({ operation, subresource }: MeasuredRequest): boolean {
    return subresource === '' && (operation === 'CREATE' || operation === 'UPDATE');
  }

  measures(name: string): boolean {
    return names.has(name);
  }

  *usage(object: MeasuredObject): SlicedWork<Amounts> {
    const { type, ports = [], allocateLoadBalancerNodePorts } = (object as DeepReadonly<Service>).spec ?? {};
    const isBalanced = type === 'LoadBalancer';
    // Ports get their numbers later, so the ports that will get one are counted.
    const given =
      isBalanced && allocateLoadBalancerNodePorts === false
        ? ports.filter(({ nodePort = 0 }) => nodePort !== 0)
        : ports;
    return new Map([
      [countName, one],
      ['services', one],
      ['services.loadbalancers', isBalanced ? one : zero],
      ['services.nodeports', isBalanced || type === 'NodePort' ? quantityOf(given.length) : zero],
    ]);
  }

  mayRelease(old: MeasuredObject, next: MeasuredObject): boolean {
    return measuredType(old) !== measuredType(next);
  }
}

function measuredType(object: MeasuredObject): string {
  const { type } = (object as DeepReadonly<Service>).spec ?? {};
  return type === 'NodePort' || type === 'LoadBalancer' ? type : '';
}
