// RequestCriteria: the requests that a policy or a binding selects, made from its matchConstraints or matchResources.
// Source: plugin/policy/matching.
import { type DeepReadonly, type LabelSelector, type LabelSelectorSpec, labelSelectorFrom } from '@kapstan/api';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import { type NamedRule, objectMatches, type Place, type RequestMatching } from '../matching/request-matching.ts';
import { PolicyFault } from './policy-fault.ts';

/** The API form of criteria, with its defaults set. */
export interface CriteriaSpec {
  readonly resourceRules?: readonly NamedRule[];
  readonly excludeResourceRules?: readonly NamedRule[];
  readonly namespaceSelector?: LabelSelectorSpec;
  readonly objectSelector?: LabelSelectorSpec;
  readonly matchPolicy?: string;
}

export class RequestCriteria {
  readonly #rules: readonly NamedRule[];
  readonly #excluded: readonly NamedRule[];
  readonly #matchesEquivalent: boolean;
  readonly #namespaceSelector: LabelSelector;
  readonly #objectSelector: LabelSelector;
  /** The reason why a selector cannot be read; then no request can be decided. */
  readonly #fault: string | undefined;

  constructor(spec: DeepReadonly<CriteriaSpec>) {
    this.#rules = spec.resourceRules ?? [];
    this.#excluded = spec.excludeResourceRules ?? [];
    this.#matchesEquivalent = spec.matchPolicy === 'Equivalent';
    const namespaces = readSelector(spec.namespaceSelector, 'namespace');
    const objects = readSelector(spec.objectSelector, 'object');
    this.#namespaceSelector = namespaces.selector;
    this.#objectSelector = objects.selector;
    this.#fault = namespaces.fault ?? objects.fault;
  }

  /** True = whether the rules match depends on the name of the object, too. */
  get namesObjects(): boolean {
    return [...this.#rules, ...this.#excluded].some(({ resourceNames = [] }) => resourceNames.length > 0);
  }

  /** Returns the version of the request that the rules name; undefined = they exclude it, or do not name it. */
  placeOf(attributes: AdmissionAttributes, requests: RequestMatching): Place | undefined {
    const matchesEquivalent = this.#matchesEquivalent;
    if (requests.placeOf({ rules: this.#excluded, matchesEquivalent }, attributes) !== undefined) return undefined;
    if (this.#rules.length === 0) return requests.ownPlace(attributes);
    return requests.placeOf({ rules: this.#rules, matchesEquivalent }, attributes);
  }

  /**
   * Compares with the selectors. Throws PolicyFault when one cannot be read, and rejects with 404 when the namespace of
   * the request does not exist.
   */
  selects(attributes: AdmissionAttributes, requests: RequestMatching): boolean | Promise<boolean> {
    if (this.#fault !== undefined) throw new PolicyFault(this.#fault);
    return (
      objectMatches(this.#objectSelector, attributes) && requests.namespaceMatches(this.#namespaceSelector, attributes)
    );
  }
}

const everything = labelSelectorFrom({});

/**
 * A missing selector would select nothing here, so it must not reach this point: defaults make it select everything.
 */
function readSelector(
  spec: DeepReadonly<LabelSelectorSpec> | undefined,
  what: string,
): { readonly selector: LabelSelector; readonly fault?: string } {
  if (spec === undefined) {
    const fault = `a nil ${what} selector was passed, please ensure selectors are initialized properly`;
    return { selector: everything, fault };
  }
  try {
    return { selector: labelSelectorFrom(spec as LabelSelectorSpec) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { selector: everything, fault: error.message };
  }
}
