// The one built-in rule: system:masters everything; who is authenticated discovery, version, health and reviews of
// oneself; anonymous health and version. The paths and reviews are those of kube-apiserver's default roles
// system:discovery, system:basic-user and system:public-info-viewer.
import { authenticatedGroup, serviceAccountsGroup } from '../authn/authenticator.ts';
import type { UserInfo } from '../registry/request-context.ts';
import { type AuthorizationAttributes, type Authorizer, allRules, type UserRules } from './authorizer.ts';

export const mastersGroup = 'system:masters';

const publicPaths = ['/healthz', '/livez', '/readyz', '/version', '/version/'];
const discoveryPaths = ['/api', '/api/*', '/apis', '/apis/*', ...publicPaths, '/openapi', '/openapi/*'].sort();
/** What tells the world how to verify the tokens of service accounts. Source: system:service-account-issuer-discovery. */
const issuerPaths = [
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/',
  '/openid/v1/jwks',
  '/openid/v1/jwks/',
];
const ownReviews: ReadonlyMap<string, readonly string[]> = new Map([
  ['authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']],
  ['authentication.k8s.io', ['selfsubjectreviews']],
]);

export const builtinAuthorizer: Authorizer = {
  authorize: (attributes) =>
    isAllowed(attributes) ? { decision: 'allow', reason: '' } : { decision: 'noOpinion', reason: '' },
  rulesFor: (user) => rulesFor(user),
};

function isAllowed(attributes: AuthorizationAttributes): boolean {
  const { user, verb } = attributes;
  if (user.groups.includes(mastersGroup)) return true;
  if (attributes.type === 'path') {
    return verb === 'get' && pathsOf(user).some((paths) => matchesPath(paths, attributes.path));
  }
  if (!user.groups.includes(authenticatedGroup) || verb !== 'create') return false;
  return ownReviews.get(attributes.group)?.includes(attributes.resource) === true;
}

/** One list for each role that Kubernetes would bind the user to. */
function pathsOf({ groups }: UserInfo): readonly (readonly string[])[] {
  return [
    ...(groups.includes(authenticatedGroup) ? [discoveryPaths] : []),
    publicPaths,
    ...(groups.includes(serviceAccountsGroup) ? [issuerPaths] : []),
  ];
}

function rulesFor(user: UserInfo): UserRules {
  if (user.groups.includes(mastersGroup)) return allRules;
  const isAuthenticated = user.groups.includes(authenticatedGroup);
  const reviews = [...ownReviews].map(([group, resources]) => ({ verbs: ['create'], apiGroups: [group], resources }));
  return {
    resourceRules: isAuthenticated ? reviews : [],
    nonResourceRules: pathsOf(user).map((nonResourceURLs) => ({ verbs: ['get'], nonResourceURLs })),
    incomplete: false,
  };
}

function matchesPath(patterns: readonly string[], path: string): boolean {
  return patterns.some((p) => (p.endsWith('*') ? path.startsWith(p.slice(0, -1)) : path === p));
}
