// The label selector in API objects (meta/v1 LabelSelector), and its conversion to a LabelSelector.
import { type LabelOperator, type LabelRequirement, labelRequirement } from './label-requirement.ts';
import { everyLabel, LabelSelector, noLabel } from './label-selector.ts';

/** Source: meta/v1 LabelSelectorRequirement. */
interface LabelSelectorExpression {
  readonly key: string;
  /** "In", "NotIn", "Exists" or "DoesNotExist"; a string, because it comes from users. */
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

/** Source: meta/v1 LabelSelector. All terms must hold. */
export interface LabelSelectorSpec {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?: readonly LabelSelectorExpression[] | undefined;
}

const operators: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

/**
 * Returns the selector of an API object: absent selects nothing, empty everything. Throws TypeError with Kubernetes'
 * text. Source: LabelSelectorAsSelector.
 *
 * @example
 * ```ts
 * import { labelSelectorFrom } from '@kapstan/api';
 *
 * const selector = labelSelectorFrom({ matchLabels: { app: 'web' }, matchExpressions: [{ key: 'canary', operator: 'DoesNotExist' }] });
 * console.log(selector.matches({ app: 'web' })); // true
 * console.log(String(selector)); // app=web,!canary
 * ```
 */
export function labelSelectorFrom(spec: LabelSelectorSpec | null | undefined): LabelSelector {
  if (spec === undefined || spec === null) return noLabel;
  const equal = Object.entries(spec.matchLabels ?? {}).map(([key, value]) => labelRequirement(key, '=', [value]));
  const requirements = [...equal, ...(spec.matchExpressions ?? []).map(requirementFrom)];
  if (requirements.length === 0) return everyLabel;
  return new LabelSelector(requirements.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)));
}

function requirementFrom({ key, operator, values }: LabelSelectorExpression): LabelRequirement {
  const known = operators.get(operator);
  if (known === undefined) throw new TypeError(`${JSON.stringify(operator)} is not a valid label selector operator`);
  return labelRequirement(key, known, values ?? []);
}
