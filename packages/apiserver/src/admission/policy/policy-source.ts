// PolicySource holds the policies in force with their bindings, which a server's package fills from stored objects, and the index by which
// requests find the policies that may concern them. Source: plugin/policy/generic/policy_source.go.
import type { DeepReadonly, KubernetesObject, LabelSelector } from '@kapstan/api';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import type { Place, RequestMatching } from '../matching/request-matching.ts';
import type { RequestCriteria } from './request-criteria.ts';

export interface ParamKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The parameters that a binding names. */
export interface ParamRef {
  /** "" = all that the selector selects. */
  readonly name: string;
  /** "" = the namespace of the request. */
  readonly namespace: string;
  readonly selector: LabelSelector | undefined;
  /** True = a request is refused when there are none. */
  readonly isRequired: boolean;
}

/** The common parts of validating and mutating policies. */
export interface AdmissionPolicy {
  readonly name: string;
  /** True = an error of the policy does not refuse the request. */
  readonly ignoresFailure: boolean;
  /** Undefined = it has no parameters. */
  readonly paramKind: ParamKind | undefined;
  readonly criteria: RequestCriteria;
}

export interface PolicyBinding {
  readonly name: string;
  readonly policyName: string;
  /** Undefined = all that the policy is for. */
  readonly criteria: RequestCriteria | undefined;
  readonly paramRef: ParamRef | undefined;
  /** Actions of a validating policy: "Deny", "Warn", "Audit". */
  readonly actions: readonly string[];
}

/** A policy with its bindings. A policy without bindings is not in force. */
export interface BoundPolicy<P extends AdmissionPolicy> {
  readonly policy: P;
  readonly bindings: readonly PolicyBinding[];
}

export interface PolicySource<P extends AdmissionPolicy> {
  /** False until everything that was stored at the start is known. */
  readonly hasSynced: boolean;
  /** A new list whenever something changed. */
  readonly policies: readonly BoundPolicy<P>[];
}

/** The objects of a kind, as parameters of policies. */
export interface ParamResource {
  readonly isNamespaced: boolean;
  /** `namespace`: "" for cluster-scoped kinds. */
  get(namespace: string, name: string): Promise<DeepReadonly<KubernetesObject> | undefined>;
  list(namespace: string, selector: LabelSelector): Promise<readonly DeepReadonly<KubernetesObject>[]>;
}

/** Finds kinds of parameters, which may come and go. */
export interface ParamKinds {
  /** Returns undefined when no such kind is served. */
  find(kind: ParamKind): ParamResource | undefined;
}

/** A policy whose rules are about the resource and the operation of a request. */
export interface PolicyCandidate<P extends AdmissionPolicy> extends BoundPolicy<P> {
  /** The version in which the policy sees the objects; undefined = that depends on the name of the object. */
  readonly place: Place | undefined;
}

export class PolicyIndex<P extends AdmissionPolicy> {
  readonly #source: PolicySource<P>;
  readonly #requests: RequestMatching;
  readonly #candidates = new Map<string, readonly PolicyCandidate<P>[]>();
  #policies: readonly BoundPolicy<P>[] = [];
  #generation = -1;

  constructor(source: PolicySource<P>, requests: RequestMatching) {
    this.#source = source;
    this.#requests = requests;
  }

  /** Returns the policies whose rules may match the request. Requests that differ only in objects share the answer. */
  candidates(attributes: AdmissionAttributes): readonly PolicyCandidate<P>[] {
    const { policies } = this.#source;
    if (policies.length === 0) return [];
    const { generation } = this.#requests.equivalents;
    if (policies !== this.#policies || generation !== this.#generation) {
      this.#candidates.clear();
      this.#policies = policies;
      this.#generation = generation;
    }
    const { operation, subresource, resource } = attributes;
    const { group, version, resource: plural } = resource;
    const scope = this.#requests.isNamespaced(attributes) ? 'n' : 'c';
    const key = `${operation} ${scope} ${group}/${version}/${plural}/${subresource}`;
    const known = this.#candidates.get(key);
    if (known !== undefined) return known;
    const found = policies.flatMap((bound) => this.#candidate(bound, attributes));
    this.#candidates.set(key, found);
    return found;
  }

  #candidate(bound: BoundPolicy<P>, attributes: AdmissionAttributes): readonly PolicyCandidate<P>[] {
    const { criteria } = bound.policy;
    if (criteria.namesObjects) return [{ ...bound, place: undefined }];
    const place = criteria.placeOf(attributes, this.#requests);
    return place === undefined ? [] : [{ ...bound, place }];
  }
}
