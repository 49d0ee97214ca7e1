// Decides whether one rule allows a request. Source: pkg/apis/rbac/v1/evaluation_helpers.go.
import type { AuthorizationAttributes } from './authorizer.ts';

/** Allowed verbs on resources, or on paths outside the API. Source: rbac/v1 PolicyRule. */
export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  /** For example "widgets", "widgets/status"; "*" matches any resource or subresource. */
  readonly resources?: readonly string[];
  /** Absent or empty = every name. */
  readonly resourceNames?: readonly string[];
  /** Paths outside the API; a star at the end matches any rest. */
  readonly nonResourceURLs?: readonly string[];
}

export function ruleAllows(rule: Rule, attributes: AuthorizationAttributes): boolean {
  if (!hasOrAll(rule.verbs, attributes.verb)) return false;
  if (attributes.type === 'path') return (rule.nonResourceURLs ?? []).some((url) => urlCovers(url, attributes.path));
  return (
    hasOrAll(rule.apiGroups, attributes.group) &&
    matchesResource(rule.resources ?? [], attributes) &&
    matchesName(rule.resourceNames ?? [], attributes.name)
  );
}

/** A star counts only at the end: "/a*" covers "/a" and every path that begins with it. */
export function urlCovers(url: string, path: string): boolean {
  return url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, '')));
}

function hasOrAll(values: readonly string[] | undefined, wanted: string): boolean {
  return values?.some((value) => value === '*' || value === wanted) === true;
}

// "pods" and "pods/log" match themselves, "*" everything, and "*/scale" that subresource of every resource.
function matchesResource(
  resources: readonly string[],
  { resource, subresource }: { readonly resource: string; readonly subresource: string },
): boolean {
  const wanted = subresource === '' ? resource : `${resource}/${subresource}`;
  const anyOwner = subresource === '' ? undefined : `*/${subresource}`;
  return resources.some((each) => each === '*' || each === wanted || each === anyOwner);
}

/** Requests without a name (list, create, …) match only rules without names. */
function matchesName(names: readonly string[], name: string): boolean {
  return names.length === 0 || names.includes(name);
}
