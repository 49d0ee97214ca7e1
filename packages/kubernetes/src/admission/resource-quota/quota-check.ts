// checkRequest computes the charge of a request to the quotas of its namespace, or the reason for its refusal. quota-charger.ts calls it
// for one request after another. Source: apiserver pkg/admission/plugin/resourcequota CheckRequest.
import { type Quantity, StatusError } from '@kapstan/api';
import { formatGroupResource, type SlicedWork } from '@kapstan/api/internal';
import type { AdmissionAttributes } from '@kapstan/apiserver';
import { refuse } from '@kapstan/apiserver/internal';
import { type Amounts, amountsWhere, formatAmounts, increases } from '../../quota/amounts.ts';
import type { MeasuredObject, QuotaEvaluator } from '../../quota/quota-evaluator.ts';
import { formatScopeTerm, type ScopeTerm } from '../../quota/quota-scope.ts';
import type { LimitedResource } from './limited-resources.ts';
import type { QuotaState } from './quota-state.ts';

/** A quota, together with the charges of earlier requests. */
export class RunningQuota {
  readonly state: QuotaState;
  readonly #taken = new Map<string, Quantity>();

  constructor(state: QuotaState) {
    this.state = state;
  }

  /** Amounts that differ from the stored ones. */
  get taken(): Amounts {
    return this.#taken;
  }

  used(name: string): Quantity | undefined {
    return this.#taken.get(name) ?? this.state.used(name);
  }

  take(amounts: Amounts): void {
    for (const [name, value] of amounts) this.#taken.set(name, this.used(name)?.add(value) ?? value);
  }
}

/** The charge of a request to one quota. */
export interface Charge {
  readonly quota: RunningQuota;
  readonly amounts: Amounts;
}

export interface CheckedRequest {
  readonly attributes: AdmissionAttributes;
  readonly evaluator: QuotaEvaluator;
  readonly limited: readonly LimitedResource[];
}

/** Number of quotas that are compared between two looks at the clock. */
const quotasPerSlice = 20;

/** Returns nothing for a request that takes nothing. Throws StatusError to refuse. */
export function* checkRequest(request: CheckedRequest, quotas: readonly RunningQuota[]): SlicedWork<readonly Charge[]> {
  const { attributes, evaluator } = request;
  const object = (attributes.object ?? {}) as MeasuredObject;
  const found = yield* concernedQuotas(request, object, quotas);
  const usage = yield* evaluator.usage(object);
  yield;
  const negative = yield* amountsWhere(usage, (_name, { sign }) => sign < 0);
  if (negative.size > 0)
    throw refuse(attributes, `quota usage is negative for resource(s): ${[...negative.keys()].sort().join(',')}`);
  const old = yield* oldUsage(request);
  const changes = yield* changesOf(request, { usage, old, concerned: found.concerned });
  yield;
  const isSame = found.concerned.length === 0 && (yield* increases(usage, old ?? new Map())).size === 0;
  if (isSame || (changes.length > 0 && changes.every(({ amounts }) => amounts.size === 0))) return [];
  requireCover(request, { usage, ...found, object });
  const charges: Charge[] = [];
  for (const { quota, amounts } of changes) {
    const taken = yield* amountsWhere(amounts, (name) => quota.state.limit(name) !== undefined);
    if (attributes.subresource !== 'status') requireRoom(attributes, quota, taken);
    if (taken.size > 0) charges.push({ quota, amounts: taken });
  }
  return charges;
}

interface Concerned {
  readonly concerned: readonly RunningQuota[];
  /** Names that some of these quotas limit. */
  readonly covered: ReadonlySet<string>;
  readonly coveredScopes: ReadonlySet<string>;
}

function* concernedQuotas(
  request: CheckedRequest,
  object: MeasuredObject,
  quotas: readonly RunningQuota[],
): SlicedWork<Concerned> {
  const concerned: RunningQuota[] = [];
  const covered = new Set<string>();
  const coveredScopes = new Set<string>();
  for (const [at, quota] of quotas.entries()) {
    if (at % quotasPerSlice === quotasPerSlice - 1) yield;
    const { scopes } = quota.state;
    const matching = scopes.filter((term) => request.evaluator.matchesScope?.(term, object) === true);
    for (const { scopeName } of matching) coveredScopes.add(scopeName);
    if (matching.length < scopes.length) continue;
    const names = yield* namesConcerned(request, object, quota.state);
    if (names.length === 0) continue;
    concerned.push(quota);
    if (request.limited.length > 0) for (const name of names) covered.add(name);
  }
  return { concerned, covered, coveredScopes };
}

/** Returns which limits of a quota concern the object. Throws StatusError when the object cannot be compared with them. */
function* namesConcerned(
  { attributes, evaluator }: CheckedRequest,
  object: MeasuredObject,
  quota: QuotaState,
): SlicedWork<readonly string[]> {
  const { names, isCounted } = yield* quota.measured(evaluator);
  if (names.length === 0) return names;
  const missing = evaluator.missingAmounts === undefined ? undefined : yield* evaluator.missingAmounts(names, object);
  if (missing !== undefined) throw refuse(attributes, `failed quota: ${quota.name}: ${missing}`);
  if (isCounted) return names;
  throw refuse(attributes, `status unknown for quota: ${quota.name}, resources: ${[...names].sort().join(',')}`);
}

/** Returns undefined for a new object. */
function* oldUsage({ attributes, evaluator }: CheckedRequest): SlicedWork<Amounts | undefined> {
  const { operation, oldObject } = attributes;
  if (operation !== 'UPDATE') return undefined;
  if (oldObject === undefined)
    throw refuse(attributes, 'unable to get previous usage since prior version of object was not found');
  return (oldObject.metadata?.resourceVersion ?? '') === '' ? undefined : yield* evaluator.usage(oldObject);
}

/** A quota that did not measure the old object is charged for the whole new one. */
function* changesOf(
  { attributes: { oldObject }, evaluator }: CheckedRequest,
  {
    usage,
    old,
    concerned,
  }: { readonly usage: Amounts; readonly old: Amounts | undefined } & Pick<Concerned, 'concerned'>,
): SlicedWork<readonly Charge[]> {
  const whole = yield* amountsWhere(usage, (_name, { sign }) => sign !== 0);
  if (old === undefined || oldObject === undefined) return concerned.map((quota) => ({ quota, amounts: whole }));
  const more = yield* increases(usage, old);
  return concerned.map((quota) => {
    const wasMeasured = quota.state.scopes.every((term) => evaluator.matchesScope?.(term, oldObject) === true);
    return { quota, amounts: wasMeasured ? more : whole };
  });
}

/** Requires a quota for resources that may only be used where they are limited. */
function requireCover(
  { attributes, evaluator, limited }: CheckedRequest,
  { usage, covered, coveredScopes, object }: Concerned & { readonly usage: Amounts; readonly object: MeasuredObject },
): void {
  if (limited.length === 0) return;
  const own = formatGroupResource(attributes.resource);
  const parts = limited.flatMap(({ apiGroup, resource, matchContains }) =>
    formatGroupResource({ group: apiGroup, resource }) === own ? matchContains : [],
  );
  const open = [...usage].flatMap(([name, value]) =>
    value.sign > 0 && !covered.has(name) && parts.some((part) => name.includes(part)) ? [name] : [],
  );
  if (open.length > 0) throw refuse(attributes, `insufficient quota to consume: ${open.sort().join(',')}`);
  const scopes = limited
    .flatMap(({ matchScopes }) => matchScopes)
    .filter((term) => evaluator.matchesScope?.(term, object) === true && !coveredScopes.has(term.scopeName));
  if (scopes.length > 0) throw uncoveredScopes(scopes);
}

/** Kubernetes omits that this is forbidden; we keep its mistake. */
function uncoveredScopes(terms: readonly ScopeTerm[]): StatusError {
  const told = terms.map(formatScopeTerm).join(' ');
  return new StatusError({ code: 500, reason: '', message: `insufficient quota to match these scopes: [${told}]` });
}

function requireRoom(attributes: AdmissionAttributes, quota: RunningQuota, taken: Amounts): void {
  const exceeded = [...taken].filter(([name, value]) => {
    const limit = quota.state.limit(name);
    const next = quota.used(name)?.add(value) ?? value;
    return limit !== undefined && next.compare(limit) > 0;
  });
  if (exceeded.length === 0) return;
  const shown = (amountOf: (name: string) => Quantity | undefined): string => {
    const amounts = new Map<string, Quantity>();
    for (const [name] of exceeded) {
      const value = amountOf(name);
      if (value !== undefined) amounts.set(name, value);
    }
    return formatAmounts(amounts);
  };
  const requested = formatAmounts(new Map(exceeded));
  const used = shown((name) => quota.used(name));
  const limits = shown((name) => quota.state.limit(name));
  throw refuse(
    attributes,
    `exceeded quota: ${quota.state.name}, requested: ${requested}, used: ${used}, limited: ${limits}`,
  );
}
