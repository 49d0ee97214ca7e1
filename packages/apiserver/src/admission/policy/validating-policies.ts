// ValidatingPolicies is the admission plug-in that evaluates validating policies. A plug-in of the admission chain. Source:
// plugin/policy/validating/dispatcher.go.
import { StatusError, type StatusReason } from '@kapstan/api';
import type { MetricFamily } from '@kapstan/api/internal';
import { stringifyEscaped } from '../../codec/go-json.ts';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import { matchConditions } from '../matching/match-conditions.ts';
import { requireReady } from '../matching/readiness.ts';
import { type AdmissionPlugin, refuse } from '../plugin/admission-plugin.ts';
import {
  errorVerdict,
  evaluatePolicy,
  type PolicyAnnotation,
  type PolicyDecision,
  type PolicyVerdict,
} from './policy-evaluation.ts';
import { PolicyFault } from './policy-fault.ts';
import { PolicyCall, PolicyInvocation, type PolicyInvocationParts } from './policy-invocation.ts';
import { errorType } from './policy-metrics.ts';
import type { Params } from './policy-params.ts';
import type { PolicyPorts } from './policy-ports.ts';
import { PolicySelection, type SelectedPolicy, versionedInvocation } from './policy-selection.ts';
import { type PolicyBinding, PolicyIndex } from './policy-source.ts';
import type { ValidatingPolicy } from './validating-policy.ts';

/** Maximum number of characters of one value of an audit annotation. */
const maxAnnotationLength = 10 * 1024;

/** The reason for which a request is denied. Only the first one is reported. */
interface Denial {
  readonly policy: ValidatingPolicy;
  readonly binding: PolicyBinding | undefined;
  readonly message: string;
  readonly reason: string;
}

export class ValidatingPolicies implements AdmissionPlugin {
  readonly name: string;
  readonly #ports: PolicyPorts;
  readonly #index: PolicyIndex<ValidatingPolicy>;

  constructor(name: string, ports: PolicyPorts) {
    this.name = name;
    this.#ports = ports;
    this.#index = new PolicyIndex(ports.validating, ports.requests);
  }

  /** True when there is no policy, so that requests need not be described. */
  get isIdle(): boolean {
    const { hasSynced, policies } = this.#ports.validating;
    return hasSynced && policies.length === 0;
  }

  validate(attributes: AdmissionAttributes): Promise<void> | void {
    const { validating, isExempt } = this.#ports;
    if (isExempt(attributes.resource)) return;
    if (!validating.hasSynced) return this.#validateLater(attributes);
    if (this.#index.candidates(attributes).length > 0) return this.#validate(attributes);
  }

  families(): MetricFamily[] {
    return this.#ports.validatingMetrics.families();
  }

  async #validateLater(attributes: AdmissionAttributes): Promise<void> {
    await requireReady(this.#ports.validating, attributes, this.#ports);
    await this.#validate(attributes);
  }

  async #validate(attributes: AdmissionAttributes): Promise<void> {
    const call = new PolicyCall(attributes, this.#ports);
    const selection = new PolicySelection(call, this.#ports);
    const denials: Denial[] = [];
    for (const candidate of this.#index.candidates(attributes)) {
      const selected = await selection.select(candidate);
      if (selected !== undefined) await new PolicyRun(call, selected, { ...this.#ports, kind: this.name }).run(denials);
    }
    const [first] = denials;
    if (first !== undefined) throw denialStatus(attributes, first, this.name);
  }
}

/** `kind`: the policies' kind, as messages name it. */
type RunPorts = PolicyPorts & { readonly kind: string };

/** One policy for one request, with all its bindings and parameters. */
class PolicyRun {
  readonly #call: PolicyCall;
  readonly #selected: SelectedPolicy<ValidatingPolicy>;
  readonly #ports: RunPorts;
  /** Values of audit annotations by key, which bindings and parameters share. */
  readonly #annotations = new Map<string, Set<string>>();
  #common: Omit<PolicyInvocationParts, 'params'> | undefined;

  constructor(call: PolicyCall, selected: SelectedPolicy<ValidatingPolicy>, ports: RunPorts) {
    this.#call = call;
    this.#selected = selected;
    this.#ports = ports;
  }

  async run(denials: Denial[]): Promise<void> {
    const { policy, bindings, fault: policyFault } = this.#selected;
    // A fault in the evaluation counts as one more denial, unless the policy ignores failures.
    const deny = (binding: PolicyBinding | undefined, message: string): void => {
      if (!policy.ignoresFailure) denials.push({ policy, binding, message, reason: '' });
    };
    if (policyFault !== undefined) deny(undefined, policyFault);
    for (const { binding, params, fault } of bindings) {
      if (fault !== undefined) deny(binding, fault);
      try {
        for (const each of params) this.#act(binding, await this.#evaluate(each), denials);
      } catch (error) {
        if (!(error instanceof PolicyFault)) throw error;
        deny(binding, `failed to configure binding: ${error.message}`);
      }
    }
    this.#publish();
  }

  async #evaluate(params: Params): Promise<PolicyVerdict> {
    const { policy } = this.#selected;
    const invocation = new PolicyInvocation({ ...(await this.#commonParts()), params });
    if (policy.conditions.length > 0) {
      const matched = await this.#conditionsHold(invocation);
      if (matched !== true) return matched;
    }
    return evaluatePolicy(policy, invocation);
  }

  async #conditionsHold(invocation: PolicyInvocation): Promise<true | PolicyVerdict> {
    const { policy } = this.#selected;
    const { conditions: metrics, clock } = this.#ports;
    const beganMs = clock.monotonicNow();
    const variables = invocation.conditionScope();
    const matched = await matchConditions(policy.conditions, { run: this.#call.run, variables });
    const { operation } = this.#call.attributes;
    const of = { name: policy.name, kind: 'policy', type: 'validate', operation } as const;
    metrics.evaluated(of, clock.monotonicNow() - beganMs);
    if (matched === 'matches') return true;
    if (matched === 'differs') return noVerdict;
    metrics.failed(of, matched.errors);
    return policy.ignoresFailure ? noVerdict : errorVerdict(policy, matched.failed);
  }

  /** Returns the objects in the version of the policy, and the namespace if an expression names it. They are made for the first evaluation. */
  async #commonParts(): Promise<Omit<PolicyInvocationParts, 'params'>> {
    if (this.#common !== undefined) return this.#common;
    const { policy, place } = this.#selected;
    const call = this.#call;
    const invocation = await versionedInvocation(call, place);
    const namespaceObject = policy.namesNamespace ? await call.namespaceObject() : undefined;
    this.#common = { call, invocation, namespaceObject, variables: policy.variables };
    return this.#common;
  }

  #act(binding: PolicyBinding, { decisions, annotations }: PolicyVerdict, denials: Denial[]): void {
    for (const [index, decision] of decisions.entries()) {
      if (decision.outcome === 'admitted-error') this.#note(binding, decision, 'allow');
      if (decision.outcome === 'deny' || decision.outcome === 'error')
        denials.push(...this.#actOn(binding, decision, index));
    }
    for (const annotation of annotations) this.#annotate(binding, annotation, denials);
  }

  /** Carries out the actions that the binding declares for a validation that does not hold. Returns the denials. */
  #actOn(binding: PolicyBinding, decision: PolicyDecision, index: number): readonly Denial[] {
    const { message, reason } = decision;
    for (const action of binding.actions) {
      if (action === 'Warn') this.#warn(binding, message);
      else if (action === 'Audit') this.#audit(binding, index, message);
      this.#note(binding, decision, action.toLowerCase());
    }
    const { policy } = this.#selected;
    return binding.actions.includes('Deny') ? [{ policy, binding, message, reason }] : [];
  }

  #warn(binding: PolicyBinding, message: string): void {
    const { name } = this.#selected.policy;
    this.#call.attributes.context.warn(
      `Validation failed for ${this.#ports.kind} '${name}' with binding '${binding.name}': ${message}`,
    );
  }

  #audit(binding: PolicyBinding, expressionIndex: number, message: string): void {
    const { policyName: policy, name, actions: validationActions } = binding;
    const failure = { message, policy, binding: name, expressionIndex, validationActions };
    this.#call.attributes.context.annotate?.(
      'validation.policy.admission.k8s.io/validation_failure',
      stringifyEscaped([failure]),
    );
  }

  #annotate(binding: PolicyBinding, annotation: PolicyAnnotation, denials: Denial[]): void {
    const { policy } = this.#selected;
    if ('error' in annotation) {
      const { error, durationMs } = annotation;
      denials.push({ policy, binding, message: error, reason: '' });
      this.#note(binding, { outcome: 'error', message: error, reason: '', durationMs }, 'deny');
      return;
    }
    const { key, value } = annotation;
    const values = this.#annotations.get(key) ?? new Set();
    this.#annotations.set(key, values.add(cutBytes(value, maxAnnotationLength)));
  }

  #publish(): void {
    const { context } = this.#call.attributes;
    for (const [key, values] of this.#annotations)
      context.annotate?.(`${this.#selected.policy.name}/${key}`, [...values].join(', '));
  }

  #note(binding: PolicyBinding, { message, durationMs }: PolicyDecision, action: string): void {
    const labels = {
      policy: this.#selected.policy.name,
      policy_binding: binding.name,
      error_type: errorType(message),
      enforcement_action: action,
    };
    this.#ports.validatingMetrics.checked(labels, durationMs);
  }
}

const noVerdict: PolicyVerdict = { decisions: [], annotations: [] };

function cutBytes(text: string, bytes: number): string {
  return Buffer.byteLength(text) <= bytes ? text : Buffer.from(text).subarray(0, bytes).toString();
}

const codes: Readonly<Record<string, number>> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 };

function denialStatus(
  attributes: AdmissionAttributes,
  { policy, binding, message, reason }: Denial,
  kind: string,
): StatusError {
  const by = binding === undefined ? '' : ` with binding '${binding.name}'`;
  const text = `${kind} '${policy.name}'${by} denied request: ${message}`;
  const { status } = refuse(attributes, text);
  return new StatusError({
    code: codes[reason] ?? 422,
    reason: (reason || 'Invalid') as StatusReason,
    message: status.message ?? '',
    details: { ...status.details, causes: [{ message: text }] },
  });
}
