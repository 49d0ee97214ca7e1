// Finds the parts of rules that other rules do not cover, because nobody may grant permissions that they lack. Source:
// component-helpers auth/rbac/validation, pkg/registry/rbac/validation/policy_compact.go, pkg/apis/rbac/v1
// CompactString.
import { goQuote } from '@kapstan/api/internal';
import { type Rule, urlCovers } from '@kapstan/apiserver/internal';

/** Returns the part of `wanted` that `owned` does not cover, one rule per verb, resource and name. */
export function uncoveredRules(owned: readonly Rule[], wanted: readonly Rule[]): readonly Rule[] {
  return wanted.flatMap(atomsOf).filter((atom) => !owned.some((rule) => covers(rule, atom)));
}

/** Returns the sorted lines of an escalation error: rules that differ only in the verb share a line. */
export function describeRules(rules: readonly Rule[]): readonly string[] {
  const simple = new Map<string, Rule>();
  const compact: Rule[] = [];
  for (const rule of rules) {
    if (!isSimple(rule)) {
      compact.push(rule);
      continue;
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames ?? []]);
    const known = simple.get(key);
    simple.set(key, known === undefined ? rule : { ...known, verbs: [...known.verbs, ...rule.verbs] });
  }
  return [...new Set([...compact, ...simple.values()].map(describeRule))].sort();
}

/** Formats a list like Go's %q. */
export function quotedList(values: readonly string[]): string {
  return `[${values.map((value) => goQuote(value)).join(' ')}]`;
}

/** Splits a rule into rules of one verb, group and resource each; another rule covers such a part wholly or not at all. */
function atomsOf(rule: Rule): Rule[] {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  // Verbs are null when none were sent; that error comes later.
  const verbs = rule.verbs ?? [];
  const names = resourceNames.length === 0 ? [{}] : resourceNames.map((name) => ({ resourceNames: [name] }));
  const ofResources = apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) =>
        names.map((name) => ({ verbs: [verb], apiGroups: [group], resources: [resource], ...name })),
      ),
    ),
  );
  const ofUrls = nonResourceURLs.flatMap((url) => verbs.map((verb) => ({ verbs: [verb], nonResourceURLs: [url] })));
  return [...ofResources, ...ofUrls];
}

function covers(owned: Rule, atom: Rule): boolean {
  const ownedNames = owned.resourceNames ?? [];
  const atomNames = atom.resourceNames ?? [];
  const namesMatch = ownedNames.length === 0 || (atomNames.length > 0 && hasAll(ownedNames, atomNames));
  return (
    hasAllOrStar(owned.verbs, atom.verbs) &&
    hasAllOrStar(owned.apiGroups ?? [], atom.apiGroups ?? []) &&
    (atom.resources ?? []).every((resource) => coversResource(owned.resources ?? [], resource)) &&
    namesMatch &&
    (atom.nonResourceURLs ?? []).every((url) => (owned.nonResourceURLs ?? []).some((each) => urlCovers(each, url)))
  );
}

function coversResource(owned: readonly string[], resource: string): boolean {
  if (owned.includes('*') || owned.includes(resource)) return true;
  const slash = resource.indexOf('/');
  return slash >= 0 && owned.includes(`*/${resource.slice(slash + 1)}`);
}

function hasAllOrStar(owned: readonly string[], wanted: readonly string[]): boolean {
  return owned.includes('*') || hasAll(owned, wanted);
}

function hasAll(owned: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((value) => owned.includes(value));
}

function isSimple({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: Rule): boolean {
  return apiGroups.length === 1 && resources.length === 1 && resourceNames.length <= 1 && nonResourceURLs.length === 0;
}

function describeRule({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: Rule): string {
  const parts: readonly (readonly [string, readonly string[] | undefined])[] = [
    ['APIGroups', apiGroups],
    ['Resources', resources],
    ['NonResourceURLs', nonResourceURLs],
    ['ResourceNames', resourceNames],
    ['Verbs', verbs],
  ];
  const shown = parts.flatMap(([name, values = []]) => (values.length === 0 ? [] : [`${name}:${quotedList(values)}`]));
  return `{${shown.join(', ')}}`;
}
