// POST pods/{name}/eviction: a deletion that asks the disruption budgets first. Source: pkg/registry/core/pod/storage EvictionREST.
import {
  type Clock,
  type DeepReadonly,
  formatTime,
  isJsonObject,
  newBadRequest,
  newNotFound,
  StatusError,
  type UnstructuredObject,
} from '@kapstan/api';
import type { Pod } from '@kapstan/kinds/core/v1';
import type { PodDisruptionBudget } from '@kapstan/kinds/policy/v1';
import { definitionSchema } from '../../../schema/builtin-schemas.ts';
import type { BuiltinServer } from '../../builtin-kind.ts';
import { kindFactsOf } from '../../builtin-resource.ts';
import { subresourceStrategy } from '../../builtin-strategy.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ObjectSubresource } from '../../resource-definition.ts';
import type { DeleteRequest, ResourceStore } from '../../resource-store.ts';
import { selectsLabels } from '../../validation/label-rules.ts';
import { createdStatus } from './binding.ts';

const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
/** Entries of disruptedPods beyond this number are a sign that the controller is behind. */
const maxDisrupted = 2000;
const retrySeconds = 10;
const disruptionAllowed = 'DisruptionAllowed';

type BudgetStatus = NonNullable<PodDisruptionBudget['status']>;
type Condition = NonNullable<BudgetStatus['conditions']>[number];

export function evictionSubresource(server: BuiltinServer): ObjectSubresource<Pod> {
  return {
    type: 'object',
    name: 'eviction',
    kind: { group: 'policy', version: 'v1', kind: 'Eviction' },
    verbs: ['create'],
    schema: definitionSchema('policy.v1.Eviction'),
    create: async (store, context, { name, body }) => {
      if ((body.metadata?.name ?? '') !== name)
        throw newBadRequest('name in URL does not match name in Eviction object');
      const pod = (await store.get(context, name)).object;
      if (!mayGoAnyway(pod)) await useBudget(server, context, pod);
      const request = deleteRequestOf(body);
      await store.delete(context, name, await markEvicted(store, context, { name, request, clock: server.clock }));
      return createdStatus;
    },
  };
}

interface Eviction {
  readonly name: string;
  readonly request: DeleteRequest & { readonly dryRun?: unknown };
  readonly clock: Clock;
}

/** Tells in the pod who ends it, and returns the deletion that follows. Source: addConditionAndDeletePod. */
async function markEvicted(
  store: ResourceStore<Pod>,
  context: RequestContext,
  { name, request, clock }: Eviction,
): Promise<DeleteRequest> {
  const { dryRun, preconditions: wanted } = request;
  if (context.dryRun || (Array.isArray(dryRun) && dryRun.length > 0)) return request;
  let isMarked = false;
  const { stored } = await store.update(context, {
    name,
    subresource: 'eviction',
    strategy: subresourceStrategy<Pod>(kindFactsOf('v1/pods'), { prepare: () => undefined, validate: () => undefined }),
    transform: (present) => {
      if (present === undefined) throw newNotFound({ group: '', resource: 'pods' }, name);
      const { uid, resourceVersion } = present.metadata ?? {};
      isMarked = (wanted?.uid ?? uid) === uid && (wanted?.resourceVersion ?? resourceVersion) === resourceVersion;
      // The deletion refuses it.
      if (!isMarked) return present;
      return { ...present, status: { ...present.status, conditions: evicted(present.status?.conditions, clock) } };
    },
  });
  if (!isMarked || wanted?.resourceVersion === undefined) return request;
  return { ...request, preconditions: { ...wanted, resourceVersion: stored.object.metadata?.resourceVersion ?? '' } };
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

/** Pods that are over, were never scheduled, or are going already. Source: canIgnorePDB. */
function mayGoAnyway(pod: DeepReadonly<Pod>): boolean {
  const phase = pod.status?.phase;
  return (
    phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending' || pod.metadata?.deletionTimestamp !== undefined
  );
}

function deleteRequestOf(eviction: UnstructuredObject): DeleteRequest {
  return isJsonObject(eviction.deleteOptions) ? (eviction.deleteOptions as DeleteRequest) : {};
}

type BudgetStore = ResourceStore<PodDisruptionBudget>;

async function useBudget(server: BuiltinServer, context: RequestContext, pod: DeepReadonly<Pod>): Promise<void> {
  const store = server.findStore('policy', 'v1', 'poddisruptionbudgets') as unknown as BudgetStore | undefined;
  if (store === undefined) return;
  const budgets = (await store.list(context, {})).items
    .map((item) => item.object)
    .filter((budget) => covers(budget, pod));
  const [budget, ...more] = budgets;
  if (budget === undefined) return;
  if (more.length > 0) {
    const message = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
    throw new StatusError({ code: 500, reason: '', message });
  }
  if (!isReady(pod) && isUnhealthyEvictable(budget)) return;
  await takeDisruption(server, context, { store, budget, pod });
}

function covers(budget: DeepReadonly<PodDisruptionBudget>, pod: DeepReadonly<Pod>): boolean {
  return (
    budget.metadata?.namespace === pod.metadata?.namespace &&
    selectsLabels(budget.spec?.selector, pod.metadata?.labels) === true
  );
}

function isReady(pod: DeepReadonly<Pod>): boolean {
  return (
    pod.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false
  );
}

/** A pod that does not work counts for nobody's health. Source: the unhealthyPodEvictionPolicy in EvictionREST.Create. */
function isUnhealthyEvictable({ spec, status }: DeepReadonly<PodDisruptionBudget>): boolean {
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  return (status?.currentHealthy ?? 0) >= (status?.desiredHealthy ?? 0) && (status?.desiredHealthy ?? 0) > 0;
}

/** Counts the pod in the budget's status, or refuses. Source: checkAndDecrement. */
async function takeDisruption(
  server: BuiltinServer,
  context: RequestContext,
  {
    store,
    budget,
    pod,
  }: {
    readonly store: BudgetStore;
    readonly budget: DeepReadonly<PodDisruptionBudget>;
    readonly pod: DeepReadonly<Pod>;
  },
): Promise<void> {
  const name = budget.metadata?.name ?? '';
  await store.update(context, {
    name,
    subresource: 'status',
    strategy: subresourceStrategy<PodDisruptionBudget>(kindFactsOf('policy/v1/poddisruptionbudgets'), {
      prepare: () => undefined,
      validate: () => undefined,
    }),
    transform: (present) => {
      if (present === undefined) throw newNotFound({ group: 'policy', resource: 'poddisruptionbudgets' }, name);
      requireAllowed(present, name);
      const status = present.status ?? { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 };
      const disruptedPods = { ...status.disruptedPods, [pod.metadata?.name ?? '']: formatTime(server.clock.now()) };
      const left = { ...status, disruptionsAllowed: (status.disruptionsAllowed ?? 0) - 1, disruptedPods };
      if (left.disruptionsAllowed > 0) return { ...present, status: left };
      return { ...present, status: { ...left, conditions: exhausted(left, server.clock) } };
    },
  });
}

/** The conditions with DisruptionAllowed=False. Source: pdbhelper.UpdateDisruptionAllowedCondition. */
function exhausted({ conditions = [], observedGeneration = 0 }: BudgetStatus, clock: Clock): Condition[] {
  const before = conditions.find(({ type }) => type === disruptionAllowed);
  const isSame = before?.status === 'False';
  const condition: Condition = {
    type: disruptionAllowed,
    status: 'False',
    observedGeneration,
    lastTransitionTime: isSame ? before.lastTransitionTime : formatTime(clock.now()),
    reason: 'InsufficientPods',
    message: '',
  };
  return before === undefined ? [...conditions, condition] : conditions.map((c) => (c === before ? condition : c));
}

function requireAllowed({ metadata, status }: PodDisruptionBudget, name: string): void {
  if ((status?.observedGeneration ?? 0) < (metadata?.generation ?? 0)) {
    throw tooManyRequests(`The disruption budget ${name} is still being processed by the server.`, retrySeconds);
  }
  const allowed = status?.disruptionsAllowed ?? 0;
  if (allowed < 0 || Object.keys(status?.disruptedPods ?? {}).length > maxDisrupted) {
    const why =
      allowed < 0
        ? 'pdb disruptions allowed is negative'
        : 'DisruptedPods map too big - too many evictions not confirmed by PDB controller';
    throw new StatusError({
      code: 403,
      reason: 'Forbidden',
      message: `poddisruptionbudgets.policy ${JSON.stringify(name)} is forbidden: ${why}`,
      details: { name, group: 'policy', kind: 'poddisruptionbudgets' },
    });
  }
  if (allowed > 0) return;
  throw tooManyRequests(`The disruption budget ${name} ${reasonOf(status)}`, 0);
}

/** Why none may go. Source: checkAndDecrement. */
function reasonOf({ conditions = [], desiredHealthy = 0, currentHealthy = 0 }: Partial<BudgetStatus> = {}): string {
  const refused = conditions.find(({ type, status }) => type === disruptionAllowed && status === 'False');
  const { reason, message } = refused ?? {};
  if (message && reason === 'SyncFailed')
    return `does not allow evicting pods currently because it failed sync: ${message}`;
  if (currentHealthy <= desiredHealthy)
    return `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  return `does not allow evicting pods currently${message ? ` (${reason}): ${message}` : ''}`;
}

function tooManyRequests(cause: string, retryAfterSeconds: number): StatusError {
  return new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: refusal,
    details: {
      causes: [{ reason: 'DisruptionBudget', message: cause }],
      ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
    },
  });
}
