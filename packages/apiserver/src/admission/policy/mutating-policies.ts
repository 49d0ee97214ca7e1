// MutatingPolicies is the admission plug-in that evaluates mutating policies, one after the other, and applies the resulting patches. A
// plug-in of the admission chain. Source: plugin/policy/mutating/dispatcher.go.
import { type KubernetesObject, StatusError, type StatusReason } from '@kapstan/api';
import type { MetricFamily } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import { type PatchedKind, replaceMembers } from '../matching/changed-object.ts';
import { convertBetween } from '../matching/equivalent-resources.ts';
import { evaluateList } from '../matching/expression-list.ts';
import type { Invocation } from '../matching/invocation.ts';
import { matchConditions } from '../matching/match-conditions.ts';
import { requireReady } from '../matching/readiness.ts';
import { PluginReinvocation } from '../matching/reinvocation.ts';
import { type Place, sameKind } from '../matching/request-matching.ts';
import { type AdmissionPlugin, refuse } from '../plugin/admission-plugin.ts';
import type { MutatingPolicy, Mutation } from './mutating-policy.ts';
import { policyBudget } from './policy-evaluation.ts';
import { PolicyFault } from './policy-fault.ts';
import { PolicyCall, PolicyInvocation } from './policy-invocation.ts';
import { errorType } from './policy-metrics.ts';
import type { Params } from './policy-params.ts';
import { applyConfiguration, applyPatchOperations } from './policy-patches.ts';
import type { PolicyPorts } from './policy-ports.ts';
import { PolicySelection, versionedInvocation } from './policy-selection.ts';
import { type PolicyBinding, PolicyIndex } from './policy-source.ts';

/** One evaluation of a policy. */
interface PolicyTurn {
  readonly policy: MutatingPolicy;
  readonly binding: PolicyBinding;
  readonly place: Place;
  readonly params: Params;
}

/** `reason`: "" = Forbidden. */
interface PolicyError {
  readonly policy: MutatingPolicy;
  readonly binding: PolicyBinding | undefined;
  readonly message: string;
  readonly reason: StatusReason;
}

export class MutatingPolicies implements AdmissionPlugin {
  readonly name: string;
  readonly #ports: PolicyPorts;
  readonly #index: PolicyIndex<MutatingPolicy>;

  constructor(name: string, ports: PolicyPorts) {
    this.name = name;
    this.#ports = ports;
    this.#index = new PolicyIndex(ports.mutating, ports.requests);
  }

  admit(attributes: AdmissionAttributes): Promise<void> | void {
    const { mutating, isExempt } = this.#ports;
    if (isExempt(attributes.resource)) return;
    if (!mutating.hasSynced) return this.#admitLater(attributes);
    if (this.#index.candidates(attributes).length > 0) return this.#admit(attributes);
  }

  families(): MetricFamily[] {
    return this.#ports.mutatingMetrics.families();
  }

  async #admitLater(attributes: AdmissionAttributes): Promise<void> {
    await requireReady(this.#ports.mutating, attributes, this.#ports);
    await this.#admit(attributes);
  }

  async #admit(attributes: AdmissionAttributes): Promise<void> {
    const call = new PolicyCall(attributes, this.#ports);
    const errors: PolicyError[] = [];
    const turns = await this.#turns(call, errors);
    if (turns.length > 0) {
      const state = PluginReinvocation.of(attributes, this.name);
      await state.begin();
      try {
        const run = new MutationRun(call, state, this.#ports);
        for (const turn of turns) await run.take(turn, errors);
        // Kubernetes requests a second round whenever a patch was applied, whether or not it changed anything.
        if (run.hasPatched) state.changed();
      } finally {
        await state.end();
      }
    }
    const told = errors.filter(({ policy }) => !policy.ignoresFailure);
    if (told.length > 0) throw errorStatus(attributes, told);
  }

  /** Returns all evaluations that the request needs, given the object's present state. */
  async #turns(call: PolicyCall, errors: PolicyError[]): Promise<readonly PolicyTurn[]> {
    const selection = new PolicySelection(call, this.#ports);
    const turns: PolicyTurn[] = [];
    for (const candidate of this.#index.candidates(call.attributes)) {
      const selected = await selection.select(candidate);
      if (selected === undefined) continue;
      const { policy, place, bindings, fault: policyFault } = selected;
      const note = (binding: PolicyBinding | undefined, message: string | undefined): void => {
        if (message !== undefined) errors.push({ policy, binding, message, reason: '' });
      };
      note(undefined, policyFault);
      for (const { binding, params, fault } of bindings) {
        note(binding, fault);
        for (const each of params) turns.push({ policy, binding, place, params: each });
      }
    }
    return turns;
  }
}

class MutationRun {
  readonly #call: PolicyCall;
  readonly #state: PluginReinvocation;
  readonly #ports: PolicyPorts;
  #namespaceObject: Promise<unknown> | undefined;
  /** True when a patch was applied. */
  hasPatched = false;

  constructor(call: PolicyCall, state: PluginReinvocation, ports: PolicyPorts) {
    this.#call = call;
    this.#state = state;
    this.#ports = ports;
  }

  async take(turn: PolicyTurn, errors: PolicyError[]): Promise<void> {
    const { policy, binding, place } = turn;
    const note = (message: string): void => void errors.push({ policy, binding, message, reason: 'Invalid' });
    try {
      let invocation = await versionedInvocation(this.#call, place);
      if (!(await this.#conditionsHold(turn, invocation, note))) return;
      const id = idOf(turn);
      if (this.#state.isSecond && !this.#state.isDue(id)) return;
      for (const mutation of policy.mutations) invocation = await this.#mutate(mutation, { turn, invocation, note });
      if (policy.isReinvoked) this.#state.called(id);
    } catch (error) {
      if (!(error instanceof PolicyFault)) throw error;
      note(error.message);
    }
  }

  async #conditionsHold(
    { policy, params }: PolicyTurn,
    invocation: Invocation,
    note: (message: string) => void,
  ): Promise<boolean> {
    if (policy.conditions.length === 0) return true;
    const { conditions: metrics, clock } = this.#ports;
    const beganMs = clock.monotonicNow();
    const { variables } = policy;
    const scope = new PolicyInvocation({ call: this.#call, invocation, params, namespaceObject: undefined, variables });
    const matched = await matchConditions(policy.conditions, {
      run: this.#call.run,
      variables: scope.conditionScope(),
    });
    const { operation } = this.#call.attributes;
    const of = { name: policy.name, kind: 'policy', type: 'validate', operation } as const;
    metrics.evaluated(of, clock.monotonicNow() - beganMs);
    if (typeof matched === 'string') return matched === 'matches';
    metrics.failed(of, matched.errors);
    if (!policy.ignoresFailure) note(matched.failed);
    return false;
  }

  /** Returns the request with the object as the mutation leaves it. */
  async #mutate(mutation: Mutation, at: MutationPlace): Promise<Invocation> {
    const { turn, invocation, note } = at;
    const { policy, binding } = turn;
    if (invocation.object === undefined) return invocation;
    const { mutatingMetrics: metrics, clock } = this.#ports;
    const beganMs = clock.monotonicNow();
    const observe = (message: string | undefined): void =>
      metrics.checked(
        { policy: policy.name, policy_binding: binding.name, error_type: errorType(message) },
        clock.monotonicNow() - beganMs,
      );
    try {
      const object = await this.#patched(mutation, at);
      observe(undefined);
      await this.#take(object, invocation, turn.place);
      return { ...invocation, object };
    } catch (error) {
      observe((error as Error).message);
      if (!(error instanceof PolicyFault)) throw error;
      // Later mutations of the policy are applied all the same, to the object as it is.
      note(error.message);
      return invocation;
    }
  }

  async #patched({ type, compiled }: Mutation, { turn, invocation }: MutationPlace): Promise<KubernetesObject> {
    const { policy, params, place } = turn;
    const call = this.#call;
    const { variables } = policy;
    const namespaceObject = policy.namesNamespace ? await this.#namespace() : undefined;
    const scope = new PolicyInvocation({ call, invocation, params, namespaceObject, variables });
    const needs = { hasAuthorizer: true, hasNamespace: true };
    const listed = await evaluateList([compiled], {
      run: call.run,
      variables: scope.scope(needs),
      budget: policyBudget,
    });
    if (listed.stopped !== undefined) throw new PolicyFault(listed.stopped);
    const [{ value, error } = { error: 'no value' }] = listed.results;
    if (error !== undefined) throw new PolicyFault(error);
    const { subresource, context } = call.attributes;
    const of: PatchedKind = { kind: invocation.kind, definition: place.definition, subresource };
    const target = { object: invocation.object as KubernetesObject, of };
    const work = type === 'jsonPatch' ? applyPatchOperations(value, target) : applyConfiguration(value, target);
    const patched = await runInTurns(work, context.signal);
    this.hasPatched = true;
    return patched as KubernetesObject;
  }

  #namespace(): Promise<unknown> {
    this.#namespaceObject ??= this.#call.namespaceObject();
    return this.#namespaceObject;
  }

  /** All steps of the request share its object, so that object is changed. */
  async #take(object: KubernetesObject, { kind }: Invocation, { definition: from }: Place): Promise<void> {
    const { attributes, requests } = this.#call;
    if (attributes.object === undefined) return;
    const to = requests.equivalents.definitionOf(attributes.resource);
    const isConverted = !sameKind(kind, attributes.kind) && from !== undefined && to !== undefined;
    const { context } = attributes;
    replaceMembers(attributes.object, isConverted ? await convertBetween(object, { from, to, context }) : object);
  }
}

interface MutationPlace {
  readonly turn: PolicyTurn;
  readonly invocation: Invocation;
  readonly note: (message: string) => void;
}

function idOf({ policy, binding, params }: PolicyTurn): string {
  const { namespace = '', name = '' } = params?.metadata ?? {};
  return `${policy.name}/${binding.name}/${namespace}/${name}`;
}

/** All errors are causes, and the first one is the message. */
function errorStatus(attributes: AdmissionAttributes, errors: readonly PolicyError[]): StatusError {
  const causes = errors.map((error) => ({ message: errorText(error) }));
  const { status } = refuse(attributes, 'admission request denied by policy');
  return new StatusError({
    code: 403,
    reason: errors[0]?.reason || 'Forbidden',
    message: causes[0]?.message ?? '',
    details: { ...status.details, causes },
  });
}

function errorText({ policy, binding, message }: PolicyError): string {
  if (binding === undefined) return `policy "${policy.name}" denied request: ${message}`;
  return `policy '${policy.name}' with binding '${binding.name}' denied request: ${message}`;
}
