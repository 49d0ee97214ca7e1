// PolicySelection finds the evaluations that a request needs: policies, bindings and parameters. Used by
// validating-policies.ts and mutating-policies.ts. Source: plugin/policy/generic/policy_dispatcher.go.
import { isStatusError } from '@kapstan/api';
import type { Invocation } from '../matching/invocation.ts';
import type { Place } from '../matching/request-matching.ts';
import { PolicyFault } from './policy-fault.ts';
import type { PolicyCall } from './policy-invocation.ts';
import { collectParams, type Params, paramResourceOf } from './policy-params.ts';
import type { PolicyPorts } from './policy-ports.ts';
import type { AdmissionPolicy, ParamResource, PolicyBinding, PolicyCandidate } from './policy-source.ts';
import type { RequestCriteria } from './request-criteria.ts';

/** A binding whose policy is evaluated once for each of the parameters. */
export interface SelectedBinding {
  readonly binding: PolicyBinding;
  readonly params: readonly Params[];
  /** The reason why it cannot be evaluated; then there are no parameters. */
  readonly fault?: string;
}

export interface SelectedPolicy<P extends AdmissionPolicy> {
  readonly policy: P;
  readonly place: Place;
  readonly bindings: readonly SelectedBinding[];
  /** The reason why it cannot be evaluated; then there are no bindings. */
  readonly fault?: string;
}

export class PolicySelection {
  readonly #call: PolicyCall;
  readonly #ports: PolicyPorts;

  constructor(call: PolicyCall, ports: PolicyPorts) {
    this.#call = call;
    this.#ports = ports;
  }

  /** Returns undefined when the policy is not for this request. */
  async select<P extends AdmissionPolicy>(candidate: PolicyCandidate<P>): Promise<SelectedPolicy<P> | undefined> {
    const { policy } = candidate;
    const place = candidate.place ?? policy.criteria.placeOf(this.#call.attributes, this.#call.requests);
    if (place === undefined) return undefined;
    try {
      if (!(await this.#selects(policy.criteria))) return undefined;
      const resource = paramResourceOf(policy, this.#ports.paramKinds);
      const bindings: SelectedBinding[] = [];
      for (const binding of candidate.bindings) {
        const selected = await this.#binding(binding, resource);
        if (selected !== undefined) bindings.push(selected);
      }
      return { policy, place, bindings };
    } catch (error) {
      return { policy, place, bindings: [], fault: `failed to configure policy: ${faultText(error)}` };
    }
  }

  async #binding(binding: PolicyBinding, resource: ParamResource | undefined): Promise<SelectedBinding | undefined> {
    const { attributes, requests } = this.#call;
    const { criteria, paramRef } = binding;
    try {
      if (criteria !== undefined) {
        if (criteria.placeOf(attributes, requests) === undefined) return undefined;
        if (!(await this.#selects(criteria))) return undefined;
      }
      return { binding, params: await collectParams(resource, paramRef, attributes.namespace) };
    } catch (error) {
      return { binding, params: [], fault: `failed to configure binding: ${faultText(error)}` };
    }
  }

  #selects(criteria: RequestCriteria): boolean | Promise<boolean> {
    return criteria.selects(this.#call.attributes, this.#call.requests);
  }
}

/** Returns the text of a fault. Rethrows any other error. */
function faultText(error: unknown): string {
  if (error instanceof PolicyFault || isStatusError(error)) return error.message;
  throw error;
}

/** Returns the request in the version of the policy. Rejects with PolicyFault when that fails. */
export async function versionedInvocation({ attributes, requests }: PolicyCall, place: Place): Promise<Invocation> {
  try {
    return await requests.invocation(place, attributes);
  } catch (error) {
    throw new PolicyFault(`failed to convert object version: ${faultText(error)}`, { cause: error });
  }
}
