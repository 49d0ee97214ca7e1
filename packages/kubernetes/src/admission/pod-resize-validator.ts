// PodResizeValidator refuses to resize a pod beyond the capacity of its node, or on a node that does not support it.
// Source: plugin/pkg/admission/podresize.
import { type DeepReadonly, type Quantity, StatusError } from '@kapstan/api';
import type { GroupVersionResource } from '@kapstan/api/internal';
import { goQuote } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import { refuse } from '@kapstan/apiserver/internal';
import type { Node, Pod } from '@kapstan/kinds/core/v1';
import { runInTurns } from '@kapstan/storage';
import { zero } from '../quota/amounts.ts';
import { podAmounts } from '../quota/pod-amounts.ts';
import { amount } from '../validation/resource-rules.ts';

const nodes: GroupVersionResource = { group: '', version: 'v1', resource: 'nodes' };

export function podResizeValidator(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'PodResizeValidator',
    validatedResources: ['pods'],
    validate: (attributes) => {
      const { resource, subresource, object, oldObject } = attributes;
      if (resource.group !== '' || resource.resource !== 'pods' || subresource !== 'resize') return;
      if (object?.metadata?.generation === oldObject?.metadata?.generation) return;
      const nodeName = (object as Pod | undefined)?.spec?.nodeName ?? '';
      return nodeName === '' ? undefined : requireFit(reader, attributes, nodeName);
    },
  };
}

async function requireFit(reader: ObjectReader, attributes: AdmissionAttributes, name: string): Promise<void> {
  const node = (await reader.get(nodes, { namespace: '', name }, 'cached')) as DeepReadonly<Node> | undefined;
  if (node === undefined) throw refuse(attributes, `node ${goQuote(name)} not found`);
  const os = node.metadata?.labels?.['kubernetes.io/os'];
  if (os !== undefined && os !== 'linux') {
    const why = `pod resize is only supported on linux nodes, node ${goQuote(name)} is ${goQuote(os)}`;
    throw withCause(refuse(attributes, why), 'UnsupportedPlatform');
  }
  // The present amounts of the pod do not matter: the requested ones must fit.
  const { status: _status, ...asked } = attributes.object as Pod;
  const requests = await runInTurns(podAmounts(asked, 'requests'), attributes.context.signal);
  const { allocatable = {} } = node.status ?? {};
  const faults = [faultOf(requests, allocatable, 'cpu'), faultOf(requests, allocatable, 'memory')];
  const told = faults.filter((fault) => fault !== undefined).join('; ');
  if (told === '') return;
  throw withCause(refuse(attributes, `node didn't have enough allocatable resources: ${told}`), 'NodeCapacity');
}

/** CPU is given in thousandths. */
function faultOf(
  requests: ReadonlyMap<string, Quantity>,
  allocatable: Readonly<Record<string, string | number>>,
  name: 'cpu' | 'memory',
): string | undefined {
  const requested = requests.get(name) ?? zero;
  const available = Object.hasOwn(allocatable, name) ? amount(String(allocatable[name])) : zero;
  if (requested.compare(available) <= 0) return undefined;
  const scale = name === 'cpu' ? -3 : 0;
  return `${name}, requested: ${requested.scaledValue(scale)}, allocatable: ${available.scaledValue(scale)}`;
}

function withCause({ status }: StatusError, reason: string): StatusError {
  const causes = [...(status.details?.causes ?? []), { reason }];
  const { code, reason: why, message = '', details } = status;
  return new StatusError({ code, reason: why ?? '', message, details: { ...details, causes } });
}
