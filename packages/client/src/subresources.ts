// Typed calls for the subresources of built-in kinds: scale, eviction, binding, token. They work with any ResourceClient,
// also in process. Status needs no call: update, patch and apply take `subresource: 'status'`.
import {
  type CallOptions,
  type DeleteOptions,
  type GetOptions,
  type ObjectTarget,
  type Resource,
  type ResourceClient,
  resource,
  type WriteOptions,
} from '@kapstan/api';
import {
  type OptionTable,
  optional,
  requireBoolean,
  requireNotNegative,
  requireObject,
  requireOptions,
  requireString,
  requireTarget,
} from '@kapstan/api/internal';
import type { BoundObjectReference, TokenRequest } from '@kapstan/kinds/authentication.k8s.io/v1';
import type { Scale } from '@kapstan/kinds/autoscaling/v1';
import type { Binding } from '@kapstan/kinds/core/v1';
import type { Eviction } from '@kapstan/kinds/policy/v1';
import { callOptionTable } from './call-option-table.ts';
import { requireTexts } from './config/config-checks.ts';

const Pod: Resource = resource({ group: '', version: 'v1', kind: 'Pod' });
const ServiceAccount: Resource = resource({ group: '', version: 'v1', kind: 'ServiceAccount' });
const subresource = 'scale';

const evictTable: OptionTable<DeleteOptions> = {
  ...callOptionTable,
  gracePeriodSeconds: optional(requireNotNegative),
  preconditions: optional(requireObject),
  propagationPolicy: optional(requireString),
  dryRun: optional(requireBoolean),
};
const bindTable: OptionTable<BindOptions> = { ...callOptionTable, node: requireString };
const tokenTable: OptionTable<CreateTokenOptions> = {
  ...callOptionTable,
  audiences: optional(requireTexts),
  expirationSeconds: optional(requireNotNegative),
  boundObjectRef: optional(requireObject),
};

/**
 * Returns the wanted and the present number of replicas, for any kind. Rejects with a 404 when the kind cannot be
 * scaled.
 */
export async function getScale(
  client: ResourceClient,
  resource: Resource,
  target: ObjectTarget & GetOptions,
): Promise<Scale> {
  requireTarget(target);
  const { name, namespace, ...options } = target;
  const object = namespace === undefined ? { name } : { name, namespace };
  return await client.get(resource as Resource<Scale>, object, { ...options, subresource });
}

/**
 * Writes a scale that was read before; its resourceVersion turns a change in between into a 409.
 *
 * @example
 * ```ts
 * import { connect, getScale, updateScale } from '@kapstan/client';
 * import { Deployment } from '@kapstan/kinds/apps/v1';
 *
 * const client = await connect();
 * const scale = await getScale(client, Deployment, { name: 'web', namespace: 'default' });
 * await updateScale(client, Deployment, { scale: { ...scale, spec: { replicas: 3 } } });
 * ```
 */
export async function updateScale(
  client: ResourceClient,
  resource: Resource,
  { scale, ...options }: { readonly scale: Scale } & WriteOptions,
): Promise<Scale> {
  requireObject(scale, 'a scale');
  const object = { ...scale, apiVersion: 'autoscaling/v1', kind: 'Scale' };
  return await client.update(resource as Resource<Scale>, object, { ...options, subresource });
}

/** Deletes a pod unless that violates a PodDisruptionBudget, which is a 429: the caller decides whether and when to retry. */
export async function evict(client: ResourceClient, target: ObjectTarget, options: DeleteOptions = {}): Promise<void> {
  requireCall(target, options, { table: evictTable, who: 'evict' });
  const { gracePeriodSeconds, preconditions, propagationPolicy, dryRun } = options;
  const chosen = { gracePeriodSeconds, preconditions, propagationPolicy, dryRun: dryRun ? ['All'] : undefined };
  const deleteOptions = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined));
  const body: Eviction = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { ...target },
    ...(Object.keys(deleteOptions).length === 0 ? {} : { deleteOptions }),
  };
  await client.createSubresource(Pod, { ...target, subresource: 'eviction' }, { body, ...limitsOf(options) });
}

/** Options of {@link bind}. */
export interface BindOptions extends CallOptions {
  /** Name of the node. */
  readonly node: string;
}

/**
 * Assigns a pod to a node, as a scheduler does. A pod that is already assigned is a 409.
 *
 * @example
 * ```ts
 * import { bind, connect } from '@kapstan/client';
 *
 * await bind(await connect(), { name: 'web', namespace: 'default' }, { node: 'node-1' });
 * ```
 */
export async function bind(client: ResourceClient, target: ObjectTarget, options: BindOptions): Promise<void> {
  requireCall(target, options, { table: bindTable, who: 'bind' });
  const body: Binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { ...target },
    target: { apiVersion: 'v1', kind: 'Node', name: options.node },
  };
  await client.createSubresource(Pod, { ...target, subresource: 'binding' }, { body, ...limitsOf(options) });
}

/** Options of {@link createToken}: audiences, life and the object that the token is bound to. */
export interface CreateTokenOptions extends CallOptions {
  /** Default: the API server's. */
  readonly audiences?: readonly string[];
  /** Lifetime in seconds, at least 600; the server may grant more or less. Default: the server's, 3600. */
  readonly expirationSeconds?: number;
  /** The token becomes invalid when this object is deleted. */
  readonly boundObjectRef?: BoundObjectReference;
}

/**
 * Requests a new token of a service account: `status.token`, `status.expirationTimestamp`.
 *
 * @example
 * ```ts
 * import { connect, createToken } from '@kapstan/client';
 *
 * const account = { name: 'builder', namespace: 'default' };
 * const { status } = await createToken(await connect(), account, { audiences: ['registry'], expirationSeconds: 600 });
 * console.log(status?.expirationTimestamp);
 * ```
 */
export async function createToken(
  client: ResourceClient,
  target: ObjectTarget,
  options: CreateTokenOptions = {},
): Promise<TokenRequest> {
  requireCall(target, options, { table: tokenTable, who: 'createToken' });
  const { audiences, expirationSeconds, boundObjectRef } = options;
  const body: TokenRequest = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: {},
    spec: {
      ...(audiences === undefined ? {} : { audiences: [...audiences] }),
      ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
      ...(boundObjectRef === undefined ? {} : { boundObjectRef }),
    },
  };
  const call = { body, ...limitsOf(options) };
  const answer = await client.createSubresource(ServiceAccount, { ...target, subresource: 'token' }, call);
  return answer as TokenRequest;
}

function requireCall<O extends object>(
  target: ObjectTarget,
  options: O,
  { table, who }: { readonly table: OptionTable<O>; readonly who: string },
): void {
  requireTarget(target);
  requireObject(options, `options of ${who}()`);
  requireOptions(options, table, who);
}

/** Returns the options that limit a call, without the options that describe its request. */
export function limitsOf({ signal, timeoutMs, beforeAttempt, trace }: CallOptions): CallOptions {
  return {
    signal,
    timeoutMs,
    beforeAttempt,
    trace,
  };
}
