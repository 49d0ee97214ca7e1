// Rows of the core kinds except pods and services. Source: pkg/printers/internalversion/printers.go.

import type { DeepReadonly } from '@kapstan/api';
import { timeSince } from '@kapstan/apiserver';
import type {
  ComponentStatus,
  ConfigMap,
  Endpoints,
  Event,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PodTemplate,
  ReplicationController,
  ResourceQuota,
  Secret,
  ServiceAccount,
} from '@kapstan/kinds/core/v1';
import type { Event as EventsEvent } from '@kapstan/kinds/events.k8s.io/v1';
import { ageOf, type Cells, formatLabels, joinSome, nameOf, none, orUnset, podContainerCells } from './cells.ts';

const sizeOf = (map: object | undefined): number => Object.keys(map ?? {}).length;

export const componentStatusCells: Cells<ComponentStatus> = (object) => {
  const healthy = object.conditions?.find(({ type }) => type === 'Healthy');
  if (healthy === undefined) return [nameOf(object), 'Unknown', '', ''];
  const status = healthy.status === 'True' ? 'Healthy' : 'Unhealthy';
  return [nameOf(object), status, healthy.message ?? '', healthy.error ?? ''];
};

export const configMapCells: Cells<ConfigMap> = (object) => [
  nameOf(object),
  sizeOf(object.data) + sizeOf(object.binaryData),
  ageOf(object),
];

export const secretCells: Cells<Secret> = (object) => [
  nameOf(object),
  object.type ?? '',
  sizeOf(object.data),
  ageOf(object),
];

export const serviceAccountCells: Cells<ServiceAccount> = (object) => [nameOf(object), ageOf(object)];

export const namespaceCells: Cells<Namespace> = (object) => [nameOf(object), object.status?.phase ?? '', ageOf(object)];

export const podTemplateCells: Cells<PodTemplate> = (object) => [
  nameOf(object),
  ...podContainerCells(object.template?.spec),
  formatLabels(object.template?.metadata?.labels),
];

export const replicationControllerCells: Cells<ReplicationController> = (object) => [
  nameOf(object),
  object.spec?.replicas ?? 0,
  object.status?.replicas ?? 0,
  object.status?.readyReplicas ?? 0,
  ageOf(object),
  ...podContainerCells(object.spec?.template?.spec),
  formatLabels(object.spec?.selector),
];

export const resourceQuotaCells: Cells<ResourceQuota> = (object) => {
  const requests: string[] = [];
  const limits: string[] = [];
  for (const resource of Object.keys(object.status?.hard ?? {}).sort()) {
    const text = `${resource}: ${object.status?.used?.[resource] ?? '0'}/${object.status?.hard?.[resource] ?? '0'}`;
    (resource.startsWith('limits') ? limits : requests).push(text);
  }
  return [nameOf(object), requests.join(', '), limits.join(', '), ageOf(object)];
};

const maxEndpoints = 3;

export const endpointsCells: Cells<Endpoints> = (object) => [nameOf(object), formatEndpoints(object), ageOf(object)];

/** Returns the first three pairs of address and port. Source: formatEndpoints. */
function formatEndpoints(object: DeepReadonly<Endpoints>): string {
  const list = (object.subsets ?? []).flatMap((subset) => {
    const ips = (subset.addresses ?? []).map((address) => address.ip);
    const ports = subset.ports ?? [];
    if (ports.length === 0) return ips;
    return ports.flatMap((port) => ips.map((ip) => (ip.includes(':') ? `[${ip}]:${port.port}` : `${ip}:${port.port}`)));
  });
  return list.length === 0 ? none : joinSome(list, maxEndpoints);
}

const roleLabel = 'node-role.kubernetes.io/';

export const nodeCells: Cells<Node> = (object) => {
  const info = object.status?.nodeInfo;
  const address = (type: string): string => object.status?.addresses?.find((a) => a.type === type)?.address ?? none;
  return [
    nameOf(object),
    nodeStatus(object),
    nodeRoles(object),
    ageOf(object),
    info?.kubeletVersion ?? '',
    address('InternalIP'),
    address('ExternalIP'),
    info?.osImage || '<unknown>',
    `${info?.kernelVersion || '<unknown>'}${info?.architecture ? ` (${info.architecture})` : ''}`,
    info?.containerRuntimeVersion || '<unknown>',
  ];
};

function nodeStatus(node: DeepReadonly<Node>): string {
  const ready = node.status?.conditions?.find((condition) => condition.type === 'Ready');
  const status = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return node.spec?.unschedulable ? `${status},SchedulingDisabled` : status;
}

function nodeRoles(node: DeepReadonly<Node>): string {
  const roles = new Set<string>();
  for (const [label, value] of Object.entries(node.metadata?.labels ?? {})) {
    if (label.startsWith(roleLabel) && label.length > roleLabel.length) roles.add(label.slice(roleLabel.length));
    else if (label === 'kubernetes.io/role' && value !== '') roles.add(value);
  }
  return roles.size === 0 ? none : [...roles].sort().join(',');
}

const accessModes: ReadonlyMap<string, string> = new Map([
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]);

function formatAccessModes(modes: readonly string[] | undefined): string {
  return [...accessModes]
    .filter(([mode]) => modes?.includes(mode))
    .map(([, short]) => short)
    .join(',');
}

const storageClassAnnotation = 'volume.beta.kubernetes.io/storage-class';

function storageClassOf(object: DeepReadonly<PersistentVolume | PersistentVolumeClaim>): string {
  return object.metadata?.annotations?.[storageClassAnnotation] ?? object.spec?.storageClassName ?? '';
}

export const persistentVolumeCells: Cells<PersistentVolume> = (object) => {
  const claim = object.spec?.claimRef;
  const isGoing = object.metadata?.deletionTimestamp !== undefined;
  return [
    nameOf(object),
    String(object.spec?.capacity?.storage ?? '0'),
    formatAccessModes(object.spec?.accessModes),
    object.spec?.persistentVolumeReclaimPolicy ?? '',
    isGoing ? 'Terminating' : (object.status?.phase ?? ''),
    claim === undefined ? '' : `${claim.namespace ?? ''}/${claim.name ?? ''}`,
    storageClassOf(object),
    orUnset(object.spec?.volumeAttributesClassName),
    object.status?.reason ?? '',
    ageOf(object),
    orUnset(object.spec?.volumeMode),
  ];
};

export const persistentVolumeClaimCells: Cells<PersistentVolumeClaim> = (object) => {
  const isBound = (object.spec?.volumeName ?? '') !== '';
  const isGoing = object.metadata?.deletionTimestamp !== undefined;
  return [
    nameOf(object),
    isGoing ? 'Terminating' : (object.status?.phase ?? ''),
    object.spec?.volumeName ?? '',
    isBound ? String(object.status?.capacity?.storage ?? '0') : '',
    isBound ? formatAccessModes(object.status?.accessModes) : '',
    storageClassOf(object),
    orUnset(object.spec?.volumeAttributesClassName),
    ageOf(object),
    orUnset(object.spec?.volumeMode),
  ];
};

export const eventCells: Cells<Event> = (event) => {
  const firstTime = event.firstTimestamp ?? event.eventTime ?? undefined;
  const lastSeen = event.series?.lastObservedTime ?? event.lastTimestamp ?? firstTime;
  const reporter = event.reportingComponent
    ? [event.reportingComponent, event.reportingInstance]
    : [event.source?.component, event.source?.host];
  return [
    timeSince(lastSeen),
    event.type ?? '',
    event.reason ?? '',
    `${(event.involvedObject.kind ?? '').toLowerCase()}/${event.involvedObject.name ?? ''}`,
    event.involvedObject.fieldPath ?? '',
    reporter.filter((part) => part !== undefined && part !== '').join(', '),
    (event.message ?? '').trim(),
    timeSince(firstTime),
    event.series?.count ?? (event.count || 1),
    nameOf(event),
  ];
};

/** An events.k8s.io Event prints like the core event as which it is stored. */
export const eventsEventCells: Cells<EventsEvent> = (event) =>
  eventCells({
    ...(event.metadata === undefined ? {} : { metadata: event.metadata }),
    involvedObject: event.regarding ?? {},
    ...optional('reason', event.reason),
    ...optional('message', event.note),
    ...optional('type', event.type),
    ...optional('source', event.deprecatedSource),
    ...optional('firstTimestamp', event.deprecatedFirstTimestamp),
    ...optional('lastTimestamp', event.deprecatedLastTimestamp),
    ...optional('eventTime', event.eventTime),
    ...optional('count', event.deprecatedCount),
    ...optional('series', event.series),
    reportingComponent: event.reportingController ?? '',
    reportingInstance: event.reportingInstance ?? '',
  } as DeepReadonly<Event>);

function optional(key: string, value: unknown): Record<string, unknown> {
  return value === undefined || value === null ? {} : { [key]: value };
}
