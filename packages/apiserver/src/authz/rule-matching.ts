// Whether one rule of a role allows what is asked. Source: pkg/apis/rbac/v1/evaluation_helpers.go.
import type { DeepReadonly } from '@kapstan/api';
import type { PolicyRule } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import type { AuthorizationAttributes } from './authorizer.ts';

export type Rule = DeepReadonly<PolicyRule>;

export function ruleAllows(rule: Rule, attributes: AuthorizationAttributes): boolean {
  if (!hasOrAll(rule.verbs, attributes.verb)) return false;
  if (attributes.type === 'path') return (rule.nonResourceURLs ?? []).some((url) => urlCovers(url, attributes.path));
  return (
    hasOrAll(rule.apiGroups, attributes.group) &&
    matchesResource(rule.resources ?? [], attributes) &&
    matchesName(rule.resourceNames ?? [], attributes.name)
  );
}

/** Stars stand at the end alone; "/a*" covers "/a" and whatever begins with it. */
export function urlCovers(url: string, path: string): boolean {
  return url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, '')));
}

function hasOrAll(values: readonly string[] | undefined, wanted: string): boolean {
  return values?.some((value) => value === '*' || value === wanted) === true;
}

// "pods", "pods/log", "*" for all of both, and "*/scale" for that subresource of everything.
function matchesResource(
  resources: readonly string[],
  { resource, subresource }: { readonly resource: string; readonly subresource: string },
): boolean {
  const wanted = subresource === '' ? resource : `${resource}/${subresource}`;
  const anyOwner = subresource === '' ? undefined : `*/${subresource}`;
  return resources.some((each) => each === '*' || each === wanted || each === anyOwner);
}

/** Requests without a name (list, create, …) are allowed by rules without names alone. */
function matchesName(names: readonly string[], name: string): boolean {
  return names.length === 0 || names.includes(name);
}
