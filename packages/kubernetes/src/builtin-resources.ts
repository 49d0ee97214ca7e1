// The resources that a server offers without custom definitions: one BuiltinKind each, in the order of discovery.
import { lookup } from 'node:dns/promises';
import { type KubernetesObject, systemClock, type UnstructuredObject } from '@kapstan/api';
import type { ResourceDefinition } from '@kapstan/apiserver';
import type { ServerCapabilities } from '@kapstan/apiserver/internal';
import {
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from './admissionregistration/admissionpolicies/admission-policies.ts';
import {
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
} from './admissionregistration/admissionpolicies/mutating-policies.ts';
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from './admissionregistration/webhookconfigurations/webhook-configurations.ts';
import { apiServices } from './apiregistration/apiservices/api-services.ts';
import { controllerRevisions } from './apps/controllerrevisions/controller-revisions.ts';
import { daemonSets } from './apps/daemonsets/daemon-sets.ts';
import { deployments } from './apps/deployments/deployments.ts';
import { replicaSets } from './apps/replicasets/replica-sets.ts';
import { statefulSets } from './apps/statefulsets/stateful-sets.ts';
import { autoscalers, autoscalersV1 } from './autoscaling/horizontalpodautoscalers/horizontal-pod-autoscalers.ts';
import { cronJobs } from './batch/cronjobs/cron-jobs.ts';
import { jobs } from './batch/jobs/jobs.ts';
import type { BuiltinKind, BuiltinServer } from './builtin/builtin-kind.ts';
import { builtinKinds, defineBuiltin } from './builtin/builtin-resource.ts';
import { certificateSigningRequests } from './certificates/certificatesigningrequests/certificate-signing-requests.ts';
import { leases } from './coordination/leases/leases.ts';
import { configMaps } from './core/configmaps/config-maps.ts';
import { endpoints } from './core/endpoints/endpoints.ts';
import { coreEvents, eventsEvents } from './core/events/events.ts';
import { limitRanges } from './core/limitranges/limit-ranges.ts';
import { namespaces } from './core/namespaces/namespaces.ts';
import { nodes } from './core/nodes/nodes.ts';
import { persistentVolumeClaims } from './core/persistentvolumeclaims/persistent-volume-claims.ts';
import { persistentVolumes } from './core/persistentvolumes/persistent-volumes.ts';
import { pods } from './core/pods/pods.ts';
import { podTemplates } from './core/podtemplates/pod-templates.ts';
import { replicationControllers } from './core/replicationcontrollers/replication-controllers.ts';
import { resourceQuotas } from './core/resourcequotas/resource-quotas.ts';
import { secrets } from './core/secrets/secrets.ts';
import { serviceAccounts } from './core/serviceaccounts/service-accounts.ts';
import { ownNodePorts } from './core/services/node-ports.ts';
import { services } from './core/services/services.ts';
import { endpointSlices } from './discovery/endpointslices/endpoint-slices.ts';
import { flowSchemas } from './flowcontrol/flowschemas/flow-schemas.ts';
import { priorityLevelConfigurations } from './flowcontrol/prioritylevelconfigurations/priority-level-configurations.ts';
import { ingressClasses } from './networking/ingressclasses/ingress-classes.ts';
import { ingresses } from './networking/ingresses/ingresses.ts';
import { ipAddresses } from './networking/ipaddresses/ip-addresses.ts';
import { networkPolicies } from './networking/networkpolicies/network-policies.ts';
import { serviceCidrs } from './networking/servicecidrs/service-cidrs.ts';
import { runtimeClasses } from './node/runtimeclasses/runtime-classes.ts';
import { podDisruptionBudgets } from './policy/poddisruptionbudgets/pod-disruption-budgets.ts';
import { clusterRoleBindings } from './rbac/clusterrolebindings/cluster-role-bindings.ts';
import { clusterRoles } from './rbac/clusterroles/cluster-roles.ts';
import { roleBindings } from './rbac/rolebindings/role-bindings.ts';
import { roles } from './rbac/roles/roles.ts';
import { deviceClasses } from './resource/deviceclasses/device-classes.ts';
import { resourceClaims } from './resource/resourceclaims/resource-claims.ts';
import { resourceClaimTemplates } from './resource/resourceclaimtemplates/resource-claim-templates.ts';
import { resourceSlices } from './resource/resourceslices/resource-slices.ts';
import { priorityClasses } from './scheduling/priorityclasses/priority-classes.ts';
import { csiDrivers } from './storage/csidrivers/csi-drivers.ts';
import { csiNodes } from './storage/csinodes/csi-nodes.ts';
import { csiStorageCapacities } from './storage/csistoragecapacities/csi-storage-capacities.ts';
import { storageClasses } from './storage/storageclasses/storage-classes.ts';
import { volumeAttachments } from './storage/volumeattachments/volume-attachments.ts';
import { volumeAttributesClasses } from './storage/volumeattributesclasses/volume-attributes-classes.ts';

/** Resources that are not stored (virtual-resource.ts), and custom resource definitions, which apiextensions serves. */
const notServed: ReadonlySet<string> = new Set([
  'v1/bindings',
  'v1/componentstatuses',
  'authentication.k8s.io/v1/selfsubjectreviews',
  'authentication.k8s.io/v1/tokenreviews',
  'authorization.k8s.io/v1/localsubjectaccessreviews',
  'authorization.k8s.io/v1/selfsubjectaccessreviews',
  'authorization.k8s.io/v1/selfsubjectrulesreviews',
  'authorization.k8s.io/v1/subjectaccessreviews',
  'apiextensions.k8s.io/v1/customresourcedefinitions',
]);

const defaultServer: Omit<BuiltinServer, 'nodePorts'> = {
  clock: systemClock,
  random: Math.random,
  findStore: () => undefined,
  resourceOfKind: () => undefined,
  authorizer: undefined,
  serviceClusterIpRange: '10.96.0.0/12',
  serviceNodePortRange: { first: 30_000, last: 32_767 },
  capabilities: { allowsPrivileged: false },
  eventTtlSeconds: 3600,
  kubeletAddressTypes: ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'],
  lookupHost: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
};

/**
 * Returns definitions of all built-in resources that Kubernetes 1.36 serves by default and stores. Their allocators
 * hold state, so make them once per server.
 */
export function builtinResources(server: Partial<BuiltinServer> = {}): ResourceDefinition<UnstructuredObject>[] {
  const whole = { ...defaultServer, nodePorts: ownNodePorts(), ...server };
  const special = new Map([...coreKinds(whole), ...groupKinds(whole)]);
  return builtinKinds
    .ids()
    .filter((id) => !notServed.has(id))
    .map((id) => special.get(id)?.(whole.capabilities) ?? defineBuiltin({ id }));
}

type Entry = readonly [
  id: string,
  define: (capabilities: ServerCapabilities) => ResourceDefinition<UnstructuredObject>,
];

function define<T extends KubernetesObject>(kind: BuiltinKind<T>): Entry {
  return [kind.id, (capabilities) => defineBuiltin(kind, capabilities)];
}

function coreKinds(server: BuiltinServer): Entry[] {
  return [
    define(pods(server)),
    define(podTemplates),
    define(replicationControllers),
    define(services(server)),
    define(endpoints),
    define(configMaps),
    define(secrets),
    define(serviceAccounts(server)),
    define(namespaces()),
    define(nodes(server)),
    define(limitRanges),
    define(resourceQuotas),
    define(persistentVolumes(server)),
    define(persistentVolumeClaims),
    define(coreEvents(server)),
  ];
}

function groupKinds(server: BuiltinServer): Entry[] {
  return [
    define(deployments),
    define(replicaSets),
    define(statefulSets),
    define(daemonSets),
    define(controllerRevisions),
    define(jobs),
    define(cronJobs),
    define(autoscalers),
    define(autoscalersV1),
    define(certificateSigningRequests(server)),
    define(leases),
    define(eventsEvents(server)),
    define(endpointSlices),
    define(podDisruptionBudgets),
    define(roles),
    define(clusterRoles),
    define(roleBindings),
    define(clusterRoleBindings),
    define(ingresses),
    define(ingressClasses),
    define(networkPolicies),
    define(ipAddresses),
    define(serviceCidrs),
    define(priorityClasses),
    define(runtimeClasses),
    define(storageClasses),
    define(csiDrivers),
    define(csiNodes),
    define(volumeAttachments),
    define(mutatingWebhookConfigurations),
    define(validatingWebhookConfigurations),
    define(validatingAdmissionPolicies(server)),
    define(validatingAdmissionPolicyBindings(server)),
    define(mutatingAdmissionPolicies(server)),
    define(mutatingAdmissionPolicyBindings(server)),
    define(flowSchemas),
    define(priorityLevelConfigurations),
    define(apiServices(server)),
    define(deviceClasses),
    define(resourceClaims(server)),
    define(resourceSlices(server)),
    define(resourceClaimTemplates),
    define(csiStorageCapacities),
    define(volumeAttributesClasses),
  ];
}
