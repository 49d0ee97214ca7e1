// AuditPolicy decides which requests are recorded, and how much of each. Read by policy-file.ts; audit-trail.ts asks it
// once per request. Source: apiserver pkg/audit/policy (checker.go), apis/audit/v1 (1.36).
import type { AuthorizationAttributes } from '../authz/authorizer.ts';
import type { UserInfo } from '../registry/definition/request-context.ts';

/** The levels in rising order; each includes the ones before it. */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof auditLevels)[number];

export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof auditStages)[number];

export interface AuditPolicy {
  /** The first rule that matches counts; without one nothing is recorded. */
  readonly rules: readonly AuditRule[];
  /** Stages that are recorded under no rule. */
  readonly omitStages?: readonly AuditStage[];
  /** True = leave managed fields out of recorded objects, unless a rule says otherwise. Default false. */
  readonly omitManagedFields?: boolean;
}

/** Absent and empty lists match everything. */
export interface AuditRule {
  readonly level: AuditLevel;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly AuditedResources[];
  /** "" matches cluster-scoped resources. */
  readonly namespaces?: readonly string[];
  /** Paths outside the resources; "*" at the end matches any rest. */
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly AuditStage[];
  readonly omitManagedFields?: boolean;
}

export interface AuditedResources {
  /** "" = the core group, "*" = all. */
  readonly group?: string;
  /** For example "pods", "pods/log", "pods/*", "*" before "/scale", "*". */
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** The extent to which one request is recorded. */
export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

/** A request as a policy sees it. `user` is absent if the request could not be authenticated. */
export type AuditedRequest = WithoutUser<AuthorizationAttributes> & { readonly user: UserInfo | undefined };

type WithoutUser<T> = T extends unknown ? Omit<T, 'user'> : never;

export function decideAudit(policy: AuditPolicy, request: AuditedRequest): AuditDecision {
  const rule = policy.rules.find((candidate) => matches(candidate, request));
  return {
    level: rule?.level ?? 'None',
    omitStages: new Set([...(policy.omitStages ?? []), ...(rule?.omitStages ?? [])]),
    omitManagedFields: rule?.omitManagedFields ?? policy.omitManagedFields ?? false,
  };
}

/** True when `level` includes `needed`. */
export function isAtLeast(level: AuditLevel, needed: AuditLevel): boolean {
  return auditLevels.indexOf(level) >= auditLevels.indexOf(needed);
}

function matches(rule: AuditRule, request: AuditedRequest): boolean {
  const { verbs = [] } = rule;
  if (verbs.length > 0 && !verbs.includes(request.verb)) return false;
  return matchesUser(rule, request.user) && matchesWhat(rule, request);
}

function matchesUser({ users = [], userGroups = [] }: AuditRule, user: UserInfo | undefined): boolean {
  if (users.length > 0 && (user === undefined || !users.includes(user.name))) return false;
  return userGroups.length === 0 || user?.groups.some((group) => userGroups.includes(group)) === true;
}

function matchesWhat(rule: AuditRule, request: AuditedRequest): boolean {
  const { namespaces = [], resources = [], nonResourceURLs = [] } = rule;
  if (namespaces.length > 0 || resources.length > 0) {
    if (request.type !== 'resource') return false;
    if (namespaces.length > 0 && !namespaces.includes(request.namespace)) return false;
    return resources.length === 0 || resources.some((audited) => matchesResource(audited, request));
  }
  if (nonResourceURLs.length === 0) return true;
  return request.type === 'path' && nonResourceURLs.some((pattern) => matchesPath(pattern, request.path));
}

function matchesResource(
  { group = '', resources = [], resourceNames = [] }: AuditedResources,
  request: Extract<AuditedRequest, { type: 'resource' }>,
): boolean {
  if (group !== '*' && group !== request.group) return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(request.name)) return false;
  const { resource, subresource } = request;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (pattern) =>
      pattern === '*' ||
      pattern === whole ||
      pattern === `${resource}/*` ||
      (subresource !== '' && pattern === `*/${subresource}`),
  );
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, ''));
}
