// Checks the statuses of containers: restarts of ended ones, their users, their resources. Source:
// pkg/apis/core/validation ValidateContainerStateTransition, validateContainerStatusUsers,
// validateContainerStatusAllocatedResourcesStatus.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { Container, ContainerStatus, PodSpec, PodStatus, ResourceStatus } from '@kapstan/kinds/core/v1';
import { rangeErrors } from '../../validation/value-rules.ts';

type Statuses = readonly DeepReadonly<ContainerStatus>[];
type Containers = readonly DeepReadonly<Container>[];
type NamedContainers = ReadonlyMap<string, DeepReadonly<Container>>;
type Spec = DeepReadonly<PodSpec>;

/** The lists of a status with the containers that they describe. */
const lists = [
  { statuses: 'containerStatuses', containers: 'containers' },
  { statuses: 'initContainerStatuses', containers: 'initContainers' },
] as const;
const statusLists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

/** `at` is the status. */
export function validateContainerStatuses(
  at: Field,
  { spec, status }: { readonly spec: Spec; readonly status: DeepReadonly<PodStatus> },
  old: DeepReadonly<PodStatus>,
): void {
  const restartsAll = hasRestartOfAll(spec);
  for (const { statuses, containers } of lists) {
    const named = byName(spec[containers]);
    const isEnd = (name: string, exitCode: number): boolean => !restartsAll && isFinal(spec, named.get(name), exitCode);
    validateTransitions(at.child(statuses), { next: status[statuses], old: old[statuses] }, isEnd);
    validateAllocated(at.child(statuses), status[statuses], named);
  }
  const ephemeral = at.child('ephemeralContainerStatuses');
  const { ephemeralContainerStatuses: next } = status;
  validateTransitions(ephemeral, { next, old: old.ephemeralContainerStatuses }, () => true);
  ephemeral.each(next, ({ allocatedResourcesStatus = [] }, place) => {
    if (allocatedResourcesStatus.length > 0)
      place.child('allocatedResourcesStatus').forbidden('must not be specified in container status');
  });
  for (const name of statusLists) validateUsers(at.child(name), status[name], spec.os?.name ?? 'linux');
}

/** A container that has ended for good must stay so. Errors have the index in the old status. */
function validateTransitions(
  at: Field,
  { next, old }: { readonly next: Statuses | undefined; readonly old: Statuses | undefined },
  isEnd: (name: string, exitCode: number) => boolean,
): void {
  const running = new Set(next?.filter(({ state }) => state?.terminated === undefined).map(({ name }) => name));
  at.each(old, ({ name, state }, place) => {
    const ended = state?.terminated;
    if (ended === undefined || !isEnd(name, ended.exitCode)) return;
    if (running.has(name)) place.child('state').forbidden('may not be transitioned to non-terminated state');
  });
}

function hasRestartOfAll(spec: Spec): boolean {
  const all = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  return all.some(({ restartPolicyRules: rules = [] }) =>
    rules.some(({ action }) => action === 'RestartAllContainers'),
  );
}

/** If several containers share a name, the first counts. */
function byName(containers: Containers = []): NamedContainers {
  return new Map(containers.toReversed().map((container) => [container.name, container]));
}

/** True when nothing restarts the container. Source: AllContainersCouldRestart, ContainerShouldRestart. */
function isFinal(spec: Spec, container: DeepReadonly<Container> | undefined, exitCode: number): boolean {
  if (container === undefined) return true;
  if (container.restartPolicy !== undefined && ruleFor(container, exitCode)?.action === 'Restart') return false;
  const policy = container.restartPolicy ?? spec.restartPolicy;
  return policy === 'Never' || (policy === 'OnFailure' && exitCode === 0);
}

function ruleFor(container: DeepReadonly<Container>, exitCode: number) {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    const isListed = exitCodes?.values?.includes(exitCode) ?? false;
    return exitCodes?.operator === 'In' ? isListed : exitCodes?.operator === 'NotIn' && !isListed;
  });
}

const maxId = 2 ** 31 - 1;

function validateUsers(at: Field, statuses: Statuses | undefined, os: string): void {
  at.each(statuses, ({ user }, item) => {
    const linux = user?.linux;
    const place = item.child('user', 'linux');
    if (linux === undefined) return;
    if (os === 'windows') return place.forbidden('cannot be set for a windows pod');
    if (os !== 'linux') return;
    place.child('uid').invalidAll(linux.uid, rangeErrors(linux.uid, 0, maxId));
    place.child('gid').invalidAll(linux.gid, rangeErrors(linux.gid, 0, maxId));
    place.child('supplementalGroups').each(linux.supplementalGroups, (gid, group) => {
      group.invalidAll(gid, rangeErrors(gid, 0, maxId));
    });
  });
}

function validateAllocated(at: Field, statuses: Statuses | undefined, containers: NamedContainers): void {
  at.each(statuses, ({ name, allocatedResourcesStatus }, place) => {
    const container = containers.get(name);
    const claims = new Set((container?.resources?.claims ?? []).map(claimWord));
    place.child('allocatedResourcesStatus').each(allocatedResourcesStatus, (resource, item) => {
      if (container !== undefined)
        validateAllocatedName(item.child('name'), resource.name, { claims, requests: container.resources?.requests });
      validateHealth(item.child('resources'), resource);
    });
  });
}

const claimWord = ({ name, request }: { readonly name: string; readonly request?: string | undefined }): string =>
  `claim:${name}${request ? `/${request}` : ''}`;

/** Checks the name of a request or claim: "claim:name/request". */
function validateAllocatedName(
  at: Field,
  name: string,
  { claims, requests }: { readonly claims: ReadonlySet<string>; readonly requests: object | undefined },
): void {
  if (name.startsWith('claim:')) {
    if (!claims.has(name))
      at.invalid(
        name,
        "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty",
      );
  } else if (!Object.hasOwn(requests ?? {}, name))
    at.invalid(name, "must match one of the container's resource requests");
}

const healths = ['Healthy', 'Unhealthy', 'Unknown'];
const maxMessageBytes = 1024;

function validateHealth(at: Field, { resources }: DeepReadonly<ResourceStatus>): void {
  const ids = new Set<string>();
  at.each(resources, ({ resourceID: id, health, message }, place) => {
    place.child('health').oneOf(health, healths);
    if (message === '') place.child('message').required('must be non-empty if specified');
    else if (Buffer.byteLength(message ?? '') > maxMessageBytes) place.child('message').tooLong(maxMessageBytes);
    if (ids.has(id)) place.child('resourceID').duplicate(id);
    ids.add(id);
  });
}
