// ResourceRule: which requests a webhook or a policy is for, by operation, resource and scope. Used by request-matching.ts. Source:
// plugin/webhook/predicates/rules.
import type { GroupVersionResource } from '@kapstan/api/internal';

export interface ResourceRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  /** "pods", "pods/log", "pods/*", "*\/scale", "*", "*\/*". A name without subresource matches no subresource. */
  readonly resources?: readonly string[];
  /** "Cluster", "Namespaced" or "*". Absent = "*". */
  readonly scope?: string;
}

export interface RuledRequest {
  readonly operation: string;
  readonly resource: GroupVersionResource;
  readonly subresource: string;
  /** False for Namespaces themselves, although their requests carry a namespace. */
  readonly isNamespaced: boolean;
}

export function ruleMatches(rule: ResourceRule, request: RuledRequest): boolean {
  const { resource } = request;
  return (
    scopeMatches(rule, request) &&
    includes(rule.operations, request.operation) &&
    includes(rule.apiGroups, resource.group) &&
    includes(rule.apiVersions, resource.version) &&
    (rule.resources ?? []).some((name) => nameMatches(name, request))
  );
}

function includes(items: readonly string[] = [], wanted: string): boolean {
  return items.some((item) => item === '*' || item === wanted);
}

function scopeMatches({ scope = '*' }: ResourceRule, { isNamespaced }: RuledRequest): boolean {
  if (scope === '*') return true;
  return isNamespaced ? scope === 'Namespaced' : scope === 'Cluster';
}

function nameMatches(name: string, { resource, subresource }: RuledRequest): boolean {
  const slash = name.indexOf('/');
  const [plural, part] = slash < 0 ? [name, ''] : [name.slice(0, slash), name.slice(slash + 1)];
  return (plural === '*' || plural === resource.resource) && (part === '*' || part === subresource);
}
