// POST pods/{name}/eviction deletes a pod if its disruption budgets allow it. Source: pkg/registry/core/pod/storage
// EvictionREST.

import {
  type Clock,
  type DeepReadonly,
  delay,
  formatTime,
  isConflict,
  StatusError,
  type UnstructuredObject,
} from '@kapstan/api';
import { badRequest, invalid, invalidField, notFound } from '@kapstan/api/errors';
import { formatApiVersion, isJsonObject } from '@kapstan/api/internal';
import type { RequestContext, ResourceStore } from '@kapstan/apiserver';
import type { DeleteRequest, ObjectSubresource } from '@kapstan/apiserver/internal';
import { requirePreconditions, requireValidDeleteRequest, subresourceStrategy } from '@kapstan/apiserver/internal';
import type { Pod } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { kindFactsOf } from '../../builtin/builtin-resource.ts';
import { kubernetesTypes } from '../../builtin/kubernetes-types.ts';
import { createdStatus } from './binding.ts';
import { stillProcessed, useBudget } from './eviction-budget.ts';

/** Attempts when others change the pod at the same time. Source: EvictionsRetry. */
const maxAttempts = 20;
const retryMs = 500;
const retryJitter = 0.1;

export function evictionSubresource(server: BuiltinServer): ObjectSubresource<Pod> {
  const kind = { group: 'policy', version: 'v1', kind: 'Eviction' };
  return {
    type: 'object',
    name: 'eviction',
    kind,
    verbs: ['create'],
    schema: kubernetesTypes.schema('policy.v1.Eviction'),
    // Admission sees one version, whichever the client wrote.
    applyDefaults: (eviction) => {
      eviction.apiVersion = formatApiVersion(kind);
    },
    // Source: EvictionREST.AcceptsGroupVersion.
    acceptsVersion: ({ group, version }) => group === 'policy' && version === 'v1beta1',
    create: async (store, context, { name, body, validate }) => {
      if ((body.metadata?.name ?? '') !== name) throw badRequest('name in URL does not match name in Eviction object');
      const { dryRun: own, ...request } = deleteOptionsOf(body);
      if (request.ignoreStoreReadErrorWithClusterBreakingPotential === true) {
        const path = 'deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential';
        const why = 'can not be set for pod eviction, try after removing the option';
        throw invalid(kind, name, [invalidField(path, true, why)]);
      }
      const dryRun = mergedDryRun(context, own ?? []);
      await validate();
      await evict({ server, store, context: { ...context, dryRun: dryRun.length > 0 }, name, dryRun }, request);
      return createdStatus;
    },
  };
}

type DeleteOptions = DeleteRequest & { readonly dryRun?: readonly string[] };

function deleteOptionsOf(eviction: UnstructuredObject): DeleteOptions {
  return isJsonObject(eviction.deleteOptions) ? (eviction.deleteOptions as DeleteOptions) : {};
}

/** If both the request and its body ask for a dry run, they must agree. Source: propagateDryRun. */
function mergedDryRun(context: RequestContext, own: readonly string[]): readonly string[] {
  const asked = context.dryRun ? ['All'] : [];
  if (own.length === 0) return asked;
  if (asked.length > 0 && (own.length > 1 || own[0] !== 'All')) {
    const message = `Non-matching dry-run options in request and content: [${asked.join(' ')}] and [${own.join(' ')}]`;
    throw new StatusError({ code: 500, reason: '', message });
  }
  return own;
}

interface Eviction {
  readonly server: BuiltinServer;
  readonly store: ResourceStore<Pod>;
  /** `dryRun` is set when the query or the body requests it. */
  readonly context: RequestContext;
  readonly name: string;
  /** The requested values, which only the deletion itself checks. */
  readonly dryRun: readonly string[];
}

/** Source: EvictionREST.Create. */
async function evict(eviction: Eviction, request: DeleteRequest): Promise<void> {
  const pod = await endUnprotected(eviction, request);
  if (pod === undefined) return;
  const uncounted = await useBudget(eviction.server, eviction.context, pod);
  if (uncounted === undefined) return end(eviction, request);
  try {
    await end(eviction, pinned(request, pod));
  } catch (error) {
    // The pod has changed and may be ready now, in which case it counts.
    if (isConflict(error) && !hasVersion(request)) throw stillProcessed(uncounted);
    throw error;
  }
}

/** Deletes a pod that no budget protects. Otherwise returns the pod. */
async function endUnprotected(eviction: Eviction, request: DeleteRequest): Promise<DeepReadonly<Pod> | undefined> {
  const { server, store, context, name } = eviction;
  for (let attempt = 1; ; attempt++) {
    const pod = (await store.get(context, name)).object;
    const isPending = !isOver(pod) && pod.status?.phase === 'Pending';
    if (!isPending && !isOver(pod)) return pod;
    try {
      await end(eviction, isPending && !hasVersion(request) ? pinned(request, pod) : request);
      return undefined;
    } catch (error) {
      if (!isConflict(error) || !mayComeTrue(request, pod) || attempt === maxAttempts) throw error;
    }
    await delay(server.clock, retryMs * (1 + retryJitter * server.random()), context.signal);
  }
}

function hasVersion({ preconditions }: DeleteRequest): boolean {
  return preconditions?.resourceVersion !== undefined;
}

/** False when the version or uid in the request can never match the pod. */
function mayComeTrue(request: DeleteRequest, { metadata }: DeepReadonly<Pod>): boolean {
  const uid = request.preconditions?.uid;
  return !hasVersion(request) && (uid === undefined || uid === metadata?.uid);
}

/** True for pods that have ended or are being deleted. Source: canIgnorePDB, which also counts pending pods. */
function isOver({ metadata, status }: DeepReadonly<Pod>): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed' || metadata?.deletionTimestamp !== undefined;
}

/** Deletes only the state that was seen, because the pod could become ready meanwhile. */
function pinned(request: DeleteRequest, { metadata }: DeepReadonly<Pod>): DeleteRequest {
  return {
    ...request,
    preconditions: { ...request.preconditions, resourceVersion: metadata?.resourceVersion ?? '' },
  };
}

/** Source: addConditionAndDeletePod. */
async function end(eviction: Eviction, request: DeleteRequest): Promise<void> {
  const { store, context, name, dryRun } = eviction;
  const marked = context.dryRun ? request : await markEvicted(eviction, request);
  requireValidDeleteRequest(marked, dryRun);
  await store.delete(context, name, { ...marked, isAdmitted: true });
}

/**
 * Adds the condition that names who ends the pod, and returns the deletion that follows. Throws 409 when a precondition
 * fails.
 */
async function markEvicted({ server, store, context, name }: Eviction, request: DeleteRequest): Promise<DeleteRequest> {
  const { stored } = await store.update(context, {
    name,
    subresource: 'eviction',
    managedFields: 'given',
    isAdmitted: true,
    strategy: subresourceStrategy<Pod>(kindFactsOf('v1/pods'), { prepare: () => undefined, validate: () => undefined }),
    transform: (present) => {
      if (present === undefined) throw notFound({ group: '', resource: 'pods' }, name);
      requirePreconditions(present.metadata ?? {}, { request, groupKind: { group: '', resource: 'Pod' } });
      return {
        ...present,
        status: { ...present.status, conditions: evicted(present.status?.conditions, server.clock) },
      };
    },
  });
  return hasVersion(request) ? pinned(request, stored.object) : request;
}

type PodConditions = NonNullable<NonNullable<Pod['status']>['conditions']>;

function evicted(conditions: PodConditions = [], clock: Clock): PodConditions {
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  };
  const before = conditions.find(({ type }) => type === condition.type);
  if (before === undefined) return [...conditions, { ...condition, lastTransitionTime: formatTime(clock.now()) }];
  const change = before.status === condition.status ? {} : { lastTransitionTime: formatTime(clock.now()) };
  return conditions.map((other) => (other === before ? { ...before, ...condition, ...change } : other));
}
