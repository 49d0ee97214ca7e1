// Checks the disruption budgets of an eviction and counts the evicted pod in them. Used by eviction.ts. Source:
// pkg/registry/core/pod/storage EvictionREST (checkAndDecrement).
import { type Clock, type DeepReadonly, formatTime, StatusError } from '@kapstan/api';
import { forbidden, notFound } from '@kapstan/api/errors';
import type { RequestContext, ResourceStore } from '@kapstan/apiserver';
import { serverContext, subresourceStrategy } from '@kapstan/apiserver/internal';
import type { Pod } from '@kapstan/kinds/core/v1';
import type { PodDisruptionBudget } from '@kapstan/kinds/policy/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { kindFactsOf } from '../../builtin/builtin-resource.ts';
import { selectsLabels } from '../../validation/label-rules.ts';

const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
/** Maximum number of entries in disruptedPods; more show that the controller is behind. */
const maxDisrupted = 2000;
const retrySeconds = 10;
const disruptionAllowed = 'DisruptionAllowed';

type BudgetStatus = NonNullable<PodDisruptionBudget['status']>;
type Condition = NonNullable<BudgetStatus['conditions']>[number];

type BudgetStore = ResourceStore<PodDisruptionBudget>;

/**
 * Takes a disruption from the pod's budget; throws 429 when none is left. Returns the name of a budget that ignores the
 * pod while it is not ready: the pod must then be deleted in exactly the observed state.
 */
export async function useBudget(
  server: BuiltinServer,
  context: RequestContext,
  pod: DeepReadonly<Pod>,
): Promise<string | undefined> {
  const store = server.findStore('policy', 'v1', 'poddisruptionbudgets') as unknown as BudgetStore | undefined;
  if (store === undefined) return undefined;
  // A user who may evict pods is often not allowed to write budgets. The server therefore writes them itself, even
  // before admission.
  const { namespace, dryRun, signal, auditId, span, nextTurn } = context;
  const own = { ...serverContext(namespace), dryRun, signal, auditId, span, nextTurn };
  const budgets = (await store.list(own, {})).items.map((item) => item.object).filter((budget) => covers(budget, pod));
  const [budget, ...more] = budgets;
  if (budget === undefined) return undefined;
  if (more.length > 0) {
    const message = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
    throw new StatusError({ code: 500, reason: '', message });
  }
  if (!isReady(pod) && isUnhealthyEvictable(budget)) return budget.metadata?.name ?? '';
  await takeDisruption(server, own, { store, budget, pod });
  return undefined;
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

/** A pod that is not ready contributes to no budget. Source: the unhealthyPodEvictionPolicy in EvictionREST.Create. */
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
      if (present === undefined) throw notFound({ group: 'policy', resource: 'poddisruptionbudgets' }, name);
      requireAllowed(present, name);
      const status = present.status ?? { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 };
      const disruptedPods = { ...status.disruptedPods, [pod.metadata?.name ?? '']: formatTime(server.clock.now()) };
      const left = { ...status, disruptionsAllowed: (status.disruptionsAllowed ?? 0) - 1, disruptedPods };
      if (left.disruptionsAllowed > 0) return { ...present, status: left };
      return { ...present, status: { ...left, conditions: exhausted(left, server.clock) } };
    },
  });
}

/** Returns the conditions with DisruptionAllowed=False. Source: pdbhelper.UpdateDisruptionAllowedCondition. */
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
    throw stillProcessed(name);
  }
  const allowed = status?.disruptionsAllowed ?? 0;
  if (allowed < 0 || Object.keys(status?.disruptedPods ?? {}).length > maxDisrupted) {
    const why =
      allowed < 0
        ? 'pdb disruptions allowed is negative'
        : 'DisruptedPods map too big - too many evictions not confirmed by PDB controller';
    // Kubernetes names one budget here, and not its resource.
    throw forbidden({ group: 'policy', resource: 'poddisruptionbudget' }, name, why);
  }
  if (allowed > 0) return;
  throw tooManyRequests(`The disruption budget ${name} ${reasonOf(status)}`, 0);
}

/** Returns the reason why no disruption is allowed. */
function reasonOf({ conditions = [], desiredHealthy = 0, currentHealthy = 0 }: Partial<BudgetStatus> = {}): string {
  const refused = conditions.find(({ type, status }) => type === disruptionAllowed && status === 'False');
  const { reason, message } = refused ?? {};
  if (message && reason === 'SyncFailed')
    return `does not allow evicting pods currently because it failed sync: ${message}`;
  if (currentHealthy <= desiredHealthy)
    return `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  return `does not allow evicting pods currently${message ? ` (${reason}): ${message}` : ''}`;
}

/** Source: createTooManyRequestsError. */
export function stillProcessed(name: string): StatusError {
  return tooManyRequests(`The disruption budget ${name} is still being processed by the server.`, retrySeconds);
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
