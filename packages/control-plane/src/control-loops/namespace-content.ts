// One pass that deletes the content of a namespace: pods first, then everything else. It sits between
// namespace-controller.ts and the client. Source: pkg/controller/namespace/deletion, with ordered namespace deletion.

import {
  type Clock,
  type DeepReadonly,
  isMethodNotSupported,
  isNotFound,
  type KubernetesObject,
  parseTime,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import type { Pod } from '@kapstan/kinds/core/v1';
import type { ContentReport } from './namespace-conditions.ts';

export interface NamespaceContent {
  readonly client: ResourceClient;
  readonly clock: Clock;
  readonly namespace: string;
  /** Time of the namespace's deletion, RFC 3339. */
  readonly deletedAt: string;
  /** Every namespaced resource whose objects can be deleted. */
  readonly resources: readonly Resource[];
  readonly signal: AbortSignal;
}

export interface ContentPass extends ContentReport {
  /** Estimated seconds until the rest is gone. 0 = nothing is left, or the reason for the rest is unknown. */
  readonly estimateSeconds: number;
}

/** Estimate for objects that wait for finalizers, in seconds. Source: finalizerEstimateSeconds. */
const finalizerEstimateSeconds = 15;

interface Tally {
  readonly errors: string[];
  readonly remaining: Map<string, number>;
  readonly finalizers: Map<string, number>;
  estimateSeconds: number;
}

/** Rejects only when the signal aborts; other failures are part of the result. */
export async function deleteContent(content: NamespaceContent): Promise<ContentPass> {
  const tally: Tally = { errors: [], remaining: new Map(), finalizers: new Map(), estimateSeconds: 0 };
  const isPods = ({ group, plural }: Resource): boolean => group === '' && plural === 'pods';
  for (const pods of content.resources.filter(isPods)) await deleteResource(content, pods, tally);
  // Everything else is deleted only after the pods, which may need it: network policies and secrets, for example.
  if (tally.remaining.size > 0) return tally;
  for (const resource of content.resources) if (!isPods(resource)) await deleteResource(content, resource, tally);
  return tally;
}

async function deleteResource(content: NamespaceContent, resource: Resource, tally: Tally): Promise<void> {
  try {
    const before = await list(content, resource);
    if (before.length === 0) return;
    await deleteAll(content, resource, before);
    const after = await list(content, resource);
    if (after.length > 0) countRemaining(content, resource, { before, after, tally });
  } catch (error) {
    content.signal.throwIfAborted();
    tally.errors.push(messageOf(error));
  }
}

type Items = readonly DeepReadonly<KubernetesObject>[];

/** Returns nothing when the resource is no longer served. */
async function list({ client, namespace, signal }: NamespaceContent, resource: Resource): Promise<Items> {
  try {
    return (await client.listPage(resource, { namespace, signal })).items;
  } catch (error) {
    if (isNotFound(error) || isMethodNotSupported(error)) return [];
    throw error;
  }
}

/** Nothing is orphaned, because the whole namespace is deleted. */
const propagationPolicy = 'Background';

async function deleteAll(
  { client, namespace, signal }: NamespaceContent,
  resource: Resource,
  items: Items,
): Promise<void> {
  try {
    return await client.deleteCollection(resource, { namespace, propagationPolicy, signal });
  } catch (error) {
    if (!isNotFound(error) && !isMethodNotSupported(error)) throw error;
  }
  for (const { metadata } of items) {
    const target = { namespace, name: metadata?.name ?? '' };
    await client.delete(resource, target, { propagationPolicy, signal }).catch((error: unknown) => {
      if (!isNotFound(error) && !isMethodNotSupported(error)) throw error;
    });
  }
}

interface Remainder {
  readonly before: Items;
  readonly after: Items;
  readonly tally: Tally;
}

/** Throws an Error when the reason why objects still exist is unknown. */
function countRemaining(content: NamespaceContent, resource: Resource, { before, after, tally }: Remainder): void {
  const { group, version, plural } = resource;
  tally.remaining.set(`${plural}.${group}`, after.length);
  let hasFinalizers = false;
  for (const { metadata } of after) {
    for (const finalizer of metadata?.finalizers ?? []) {
      tally.finalizers.set(finalizer, (tally.finalizers.get(finalizer) ?? 0) + 1);
      hasFinalizers = true;
    }
  }
  const graceSeconds = resource.kind === 'Pod' && group === '' ? podGraceSeconds(content, before) : 0;
  const estimateSeconds = graceSeconds > 0 ? graceSeconds : hasFinalizers ? finalizerEstimateSeconds : 0;
  tally.estimateSeconds = Math.max(tally.estimateSeconds, estimateSeconds);
  if (estimateSeconds > 0) return;
  const gvr = `${group}/${version}, Resource=${plural}`;
  throw new Error(`unexpected items still remain in namespace: ${content.namespace} for gvr: ${gvr}`);
}

/** Returns the longest grace period of the running pods, in seconds; 0 once that time has passed since the deletion. */
function podGraceSeconds({ clock, deletedAt }: NamespaceContent, pods: Items): number {
  const periods = (pods as readonly DeepReadonly<Pod>[])
    .filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed')
    .map(({ spec }) => spec?.terminationGracePeriodSeconds ?? 0);
  const longest = Math.max(0, ...periods);
  return clock.now() - parseTime(deletedAt) >= longest * 1000 ? 0 : longest;
}
