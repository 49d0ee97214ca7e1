// AdmissionPolicies holds the known admission policies and bindings as the plug-ins need them. The control plane feeds it from
// the watch cache.
import { type Clock, type DeepReadonly, type KubernetesObject, labelSelectorFrom } from '@kapstan/api';
import {
  compileMutatingPolicy,
  compileValidatingPolicy,
  type MutatingPolicy,
  type MutatingPolicySpec,
  type PolicyBinding,
  type PolicySource,
  RequestCriteria,
  type ValidatingPolicy,
  type ValidatingPolicySpec,
} from '@kapstan/apiserver/internal';
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { requestExpressions } from '../../admissionregistration/request-expressions.ts';
import { PolicySet } from './policy-set.ts';

/** The kinds of admission policies. */
export type AdmissionPolicyKind =
  | 'ValidatingAdmissionPolicy'
  | 'ValidatingAdmissionPolicyBinding'
  | 'MutatingAdmissionPolicy'
  | 'MutatingAdmissionPolicyBinding';

type Stored = DeepReadonly<KubernetesObject>;

/** The admission policies and bindings of a cluster, compiled. */
export class AdmissionPolicies {
  readonly #validating: PolicySet<ValidatingPolicy>;
  readonly #mutating: PolicySet<MutatingPolicy>;

  constructor(clock: Clock) {
    this.#validating = new PolicySet({ compile: compileValidating, readBinding, clock });
    this.#mutating = new PolicySet({ compile: compileMutating, readBinding, clock });
  }

  get validating(): PolicySource<ValidatingPolicy> {
    return this.#validating;
  }

  get mutating(): PolicySource<MutatingPolicy> {
    return this.#mutating;
  }

  set(kind: AdmissionPolicyKind, object: Stored): void {
    if (isBinding(kind)) this.#setOf(kind).setBinding(object);
    else this.#setOf(kind).setPolicy(object);
  }

  delete(kind: AdmissionPolicyKind, object: Stored): void {
    if (isBinding(kind)) this.#setOf(kind).deleteBinding(object);
    else this.#setOf(kind).deletePolicy(object);
  }

  /** Replaces all objects of the kind in one step. The policies are known after the first calls for both kinds. */
  replace(kind: AdmissionPolicyKind, objects: Iterable<Stored>): void {
    if (isBinding(kind)) this.#setOf(kind).replaceBindings(objects);
    else this.#setOf(kind).replacePolicies(objects);
  }

  /** Stops preparing policies. Idempotent. */
  close(): void {
    this.#validating.close();
    this.#mutating.close();
  }

  #setOf(kind: AdmissionPolicyKind): PolicySet<ValidatingPolicy> | PolicySet<MutatingPolicy> {
    return kind.startsWith('Validating') ? this.#validating : this.#mutating;
  }
}

function isBinding(kind: AdmissionPolicyKind): boolean {
  return kind.endsWith('Binding');
}

function compileValidating(stored: Stored): ReturnType<typeof compileValidatingPolicy> {
  const { metadata, spec = {} } = stored as DeepReadonly<ValidatingAdmissionPolicy>;
  return compileValidatingPolicy(metadata?.name ?? '', spec as ValidatingPolicySpec, requestExpressions);
}

function compileMutating(stored: Stored): ReturnType<typeof compileMutatingPolicy> {
  const { metadata, spec = {} } = stored as DeepReadonly<MutatingAdmissionPolicy>;
  return compileMutatingPolicy(metadata?.name ?? '', spec as MutatingPolicySpec, requestExpressions);
}

/** Throws TypeError for a selector of parameters that cannot be read. */
function readBinding(stored: Stored): PolicyBinding {
  const { metadata, spec } = stored as DeepReadonly<ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding>;
  const { policyName = '', paramRef, matchResources } = spec ?? {};
  return {
    name: metadata?.name ?? '',
    policyName,
    criteria: matchResources === undefined ? undefined : new RequestCriteria(matchResources),
    paramRef: paramRef && {
      name: paramRef.name ?? '',
      namespace: paramRef.namespace ?? '',
      selector: paramRef.selector && labelSelectorFrom(paramRef.selector),
      isRequired: paramRef.parameterNotFoundAction === 'Deny',
    },
    actions: spec !== undefined && 'validationActions' in spec ? (spec.validationActions ?? []) : [],
  };
}
