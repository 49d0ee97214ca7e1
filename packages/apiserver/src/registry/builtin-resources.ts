// The resources that a server offers without any definition: one BuiltinKind each, in the order of discovery.
import { lookup } from 'node:dns/promises';
import { type KubernetesObject, systemClock, type UnstructuredObject } from '@kapstan/api';
import type { ValidationPolicy } from '../validation/field.ts';
import {
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from './admissionregistration/admissionpolicies/strategy.ts';
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from './admissionregistration/webhookconfigurations/strategy.ts';
import { apiServices } from './apiregistration/apiservices/strategy.ts';
import { controllerRevisions } from './apps/controllerrevisions/strategy.ts';
import { daemonSets } from './apps/daemonsets/strategy.ts';
import { deployments } from './apps/deployments/strategy.ts';
import { replicaSets } from './apps/replicasets/strategy.ts';
import { statefulSets } from './apps/statefulsets/strategy.ts';
import { autoscalers, autoscalersV1 } from './autoscaling/horizontalpodautoscalers/strategy.ts';
import { cronJobs } from './batch/cronjobs/strategy.ts';
import { jobs } from './batch/jobs/strategy.ts';
import type { BuiltinKind, BuiltinServer } from './builtin-kind.ts';
import { builtinKinds, defineBuiltin } from './builtin-resource.ts';
import { certificateSigningRequests } from './certificates/certificatesigningrequests/strategy.ts';
import { leases } from './coordination/leases/strategy.ts';
import { configMaps } from './core/configmaps/strategy.ts';
import { endpoints } from './core/endpoints/strategy.ts';
import { coreEvents, eventsEvents } from './core/events/strategy.ts';
import { limitRanges } from './core/limitranges/strategy.ts';
import { namespaces } from './core/namespaces/strategy.ts';
import { nodes } from './core/nodes/strategy.ts';
import { persistentVolumeClaims } from './core/persistentvolumeclaims/strategy.ts';
import { persistentVolumes } from './core/persistentvolumes/strategy.ts';
import { pods } from './core/pods/strategy.ts';
import { podTemplates } from './core/podtemplates/strategy.ts';
import { replicationControllers } from './core/replicationcontrollers/strategy.ts';
import { resourceQuotas } from './core/resourcequotas/strategy.ts';
import { secrets } from './core/secrets/strategy.ts';
import { serviceAccounts } from './core/serviceaccounts/strategy.ts';
import { ownNodePorts } from './core/services/node-ports.ts';
import { services } from './core/services/strategy.ts';
import { endpointSlices } from './discovery/endpointslices/strategy.ts';
import { flowSchemas } from './flowcontrol/flowschemas/strategy.ts';
import { priorityLevelConfigurations } from './flowcontrol/prioritylevelconfigurations/strategy.ts';
import { ingressClasses } from './networking/ingressclasses/strategy.ts';
import { ingresses } from './networking/ingresses/strategy.ts';
import { ipAddresses } from './networking/ipaddresses/strategy.ts';
import { networkPolicies } from './networking/networkpolicies/strategy.ts';
import { serviceCidrs } from './networking/servicecidrs/strategy.ts';
import { runtimeClasses } from './node/runtimeclasses/strategy.ts';
import { podDisruptionBudgets } from './policy/poddisruptionbudgets/strategy.ts';
import { clusterRoleBindings } from './rbac/clusterrolebindings/strategy.ts';
import { clusterRoles } from './rbac/clusterroles/strategy.ts';
import { roleBindings } from './rbac/rolebindings/strategy.ts';
import { roles } from './rbac/roles/strategy.ts';
import { deviceClasses } from './resource/deviceclasses/strategy.ts';
import { resourceClaims } from './resource/resourceclaims/strategy.ts';
import { resourceClaimTemplates } from './resource/resourceclaimtemplates/strategy.ts';
import { resourceSlices } from './resource/resourceslices/strategy.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { priorityClasses } from './scheduling/priorityclasses/strategy.ts';
import { csiDrivers } from './storage/csidrivers/strategy.ts';
import { csiNodes } from './storage/csinodes/strategy.ts';
import { csiStorageCapacities } from './storage/csistoragecapacities/strategy.ts';
import { storageClasses } from './storage/storageclasses/strategy.ts';
import { volumeAttachments } from './storage/volumeattachments/strategy.ts';
import { volumeAttributesClasses } from './storage/volumeattributesclasses/strategy.ts';

/** Virtual (virtual-resource.ts), not from storage; custom resource definitions are crd/'s. */
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
  serviceClusterIpRange: '10.96.0.0/12',
  serviceNodePortRange: { first: 30_000, last: 32_767 },
  policy: { allowsPrivileged: false },
  eventTtlSeconds: 3600,
  kubeletAddressTypes: ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'],
  lookupHost: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
};

/**
 * Definitions of all built-in resources that Kubernetes 1.36 serves by default and keeps in storage. Their allocators
 * hold state: make them once a server.
 */
export function builtinResources(server: Partial<BuiltinServer> = {}): ResourceDefinition<UnstructuredObject>[] {
  const whole = { ...defaultServer, nodePorts: ownNodePorts(), ...server };
  const special = new Map([...coreKinds(whole), ...groupKinds(whole)]);
  return builtinKinds
    .ids()
    .filter((id) => !notServed.has(id))
    .map((id) => special.get(id)?.(whole.policy) ?? defineBuiltin({ id }));
}

type Entry = readonly [id: string, define: (policy: ValidationPolicy) => ResourceDefinition<UnstructuredObject>];

function define<T extends KubernetesObject>(kind: BuiltinKind<T>): Entry {
  return [kind.id, (policy) => defineBuiltin(kind, policy)];
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
    define(validatingAdmissionPolicies),
    define(validatingAdmissionPolicyBindings),
    define(flowSchemas),
    define(priorityLevelConfigurations),
    define(apiServices(server)),
    define(deviceClasses),
    define(resourceClaims),
    define(resourceSlices(server)),
    define(resourceClaimTemplates),
    define(csiStorageCapacities),
    define(volumeAttributesClasses),
  ];
}
