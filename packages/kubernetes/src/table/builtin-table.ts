// The TableConvertor of each built-in resource: columns from the facts, cells from the printers in this folder.

import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { TableColumn, TableConvertor } from '@kapstan/apiserver';
import { columnDescriptionFacts, tableColumnFacts } from '@kapstan/kinds/facts';
import type { Cells } from './cells.ts';
import { nameOf } from './cells.ts';
import * as core from './core-cells.ts';
import { podCells } from './pod-cells.ts';
import * as policy from './policy-cells.ts';
import { ingressCells, serviceCells } from './service-cells.ts';
import * as workload from './workload-cells.ts';

// A printer gets objects of its own resource only, so its parameter type may be dropped here.
const printers: ReadonlyMap<string, Cells<never>> = new Map<string, Cells<never>>([
  ['v1/componentstatuses', core.componentStatusCells],
  ['v1/configmaps', core.configMapCells],
  ['v1/endpoints', core.endpointsCells],
  ['v1/events', core.eventCells],
  ['v1/namespaces', core.namespaceCells],
  ['v1/nodes', core.nodeCells],
  ['v1/persistentvolumeclaims', core.persistentVolumeClaimCells],
  ['v1/persistentvolumes', core.persistentVolumeCells],
  ['v1/pods', podCells],
  ['v1/podtemplates', core.podTemplateCells],
  ['v1/replicationcontrollers', core.replicationControllerCells],
  ['v1/resourcequotas', core.resourceQuotaCells],
  ['v1/secrets', core.secretCells],
  ['v1/serviceaccounts', core.serviceAccountCells],
  ['v1/services', serviceCells],
  ['apps/v1/controllerrevisions', workload.controllerRevisionCells],
  ['apps/v1/daemonsets', workload.daemonSetCells],
  ['apps/v1/deployments', workload.deploymentCells],
  ['apps/v1/replicasets', workload.replicaSetCells],
  ['apps/v1/statefulsets', workload.statefulSetCells],
  ['autoscaling/v2/horizontalpodautoscalers', workload.autoscalerCells],
  ['batch/v1/cronjobs', workload.cronJobCells],
  ['batch/v1/jobs', workload.jobCells],
  ['policy/v1/poddisruptionbudgets', workload.disruptionBudgetCells],
  ['events.k8s.io/v1/events', core.eventsEventCells],
  ['admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', policy.webhookConfigurationCells],
  ['admissionregistration.k8s.io/v1/validatingwebhookconfigurations', policy.webhookConfigurationCells],
  ['admissionregistration.k8s.io/v1/validatingadmissionpolicies', policy.admissionPolicyCells],
  ['admissionregistration.k8s.io/v1/mutatingadmissionpolicies', policy.mutatingPolicyCells],
  ['admissionregistration.k8s.io/v1/validatingadmissionpolicybindings', policy.admissionBindingCells],
  ['admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings', policy.admissionBindingCells],
  ['apiregistration.k8s.io/v1/apiservices', policy.apiServiceCells],
  ['certificates.k8s.io/v1/certificatesigningrequests', policy.certificateRequestCells],
  ['coordination.k8s.io/v1/leases', policy.leaseCells],
  ['discovery.k8s.io/v1/endpointslices', policy.endpointSliceCells],
  ['flowcontrol.apiserver.k8s.io/v1/flowschemas', policy.flowSchemaCells],
  ['flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations', policy.priorityLevelCells],
  ['networking.k8s.io/v1/ingressclasses', policy.ingressClassCells],
  ['networking.k8s.io/v1/ingresses', ingressCells],
  ['networking.k8s.io/v1/ipaddresses', policy.ipAddressCells],
  ['networking.k8s.io/v1/networkpolicies', policy.networkPolicyCells],
  ['networking.k8s.io/v1/servicecidrs', policy.serviceCidrCells],
  ['node.k8s.io/v1/runtimeclasses', policy.runtimeClassCells],
  ['rbac.authorization.k8s.io/v1/clusterrolebindings', policy.roleBindingCells],
  ['rbac.authorization.k8s.io/v1/rolebindings', policy.roleBindingCells],
  ['resource.k8s.io/v1/deviceclasses', policy.nameAndAgeCells],
  ['resource.k8s.io/v1/resourceclaims', policy.resourceClaimCells],
  ['resource.k8s.io/v1/resourceclaimtemplates', policy.nameAndAgeCells],
  ['resource.k8s.io/v1/resourceslices', policy.resourceSliceCells],
  ['scheduling.k8s.io/v1/priorityclasses', policy.priorityClassCells],
  ['storage.k8s.io/v1/csidrivers', policy.csiDriverCells],
  ['storage.k8s.io/v1/csinodes', policy.csiNodeCells],
  ['storage.k8s.io/v1/storageclasses', policy.storageClassCells],
  ['storage.k8s.io/v1/volumeattachments', policy.volumeAttachmentCells],
  ['storage.k8s.io/v1/volumeattributesclasses', policy.volumeAttributesClassCells],
]);

/**
 * Returns the convertor of a built-in resource ("apps/v1/deployments"). Without a printer it shows name and "Created
 * At", like apiserver's default convertor (rest.NewDefaultTableConvertor).
 */
export function builtinTable<T extends KubernetesObject>(id: string): TableConvertor<T> {
  const columns = tableColumnFacts().resources[id] ?? defaultColumns;
  const printer = printers.get(id) as Cells<T> | undefined;
  return {
    columns: columns.map(
      ([name, type, format, priority]): TableColumn => ({
        ...{ name, type, format, priority },
        // The description is evaluated late, because descriptions come from a file that only Tables need.
        get description(): string {
          return columnDescriptionFacts()[id]?.[name] ?? '';
        },
      }),
    ),
    cells: printer ?? defaultCells,
  };
}

const defaultColumns = [
  ['Name', 'string', 'name', 0],
  ['Created At', 'date', '', 0],
] as const;

function defaultCells(object: DeepReadonly<KubernetesObject>): readonly unknown[] {
  return [nameOf(object), object.metadata?.creationTimestamp ?? null];
}
