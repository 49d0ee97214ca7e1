// PodTopologyLabels copies the zone and region labels of its node to a pod. Source:
// plugin/pkg/admission/podtopologylabels.
import type { GroupVersionResource } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import { isAbout } from '@kapstan/apiserver/internal';
import type { Pod } from '@kapstan/kinds/core/v1';

const nodes: GroupVersionResource = { group: '', version: 'v1', resource: 'nodes' };
const topologyLabels: readonly string[] = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

export function podTopologyLabels(reader: ObjectReader): AdmissionPlugin {
  return { name: 'PodTopologyLabels', admit: (attributes) => admit(reader, attributes) };
}

async function admit(reader: ObjectReader, attributes: AdmissionAttributes): Promise<void> {
  const pod = attributes.object as Pod | undefined;
  const name = pod?.spec?.nodeName ?? '';
  if (pod === undefined || name === '' || !isAssignment(attributes)) return;
  const node = await reader.get(nodes, { namespace: '', name }, 'cached');
  for (const label of topologyLabels) {
    const value = node?.metadata?.labels?.[label];
    if (value !== undefined) pod.metadata = { ...pod.metadata, labels: { ...pod.metadata?.labels, [label]: value } };
  }
}

/** True for a pod created on a node or bound to it. A binding arrives here as an update of the pod. */
function isAssignment(attributes: AdmissionAttributes): boolean {
  const { resource, subresource, operation } = attributes;
  if (isAbout(attributes, '', 'pods')) return operation === 'CREATE';
  return resource.group === '' && resource.resource === 'pods' && subresource === 'binding';
}
