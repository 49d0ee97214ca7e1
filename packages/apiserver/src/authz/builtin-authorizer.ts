// The one built-in rule: system:masters everything; who is authenticated discovery, version, health and reviews of
// oneself; anonymous health and version. DESIGN §7; the paths and reviews are those of kube-apiserver's default roles
// system:discovery, system:basic-user and system:public-info-viewer.
import { authenticatedGroup } from '../authn/authenticator.ts';
import type { AuthorizationAttributes, Authorizer } from './authorizer.ts';

export const mastersGroup = 'system:masters';

const publicPaths = ['/healthz', '/livez', '/readyz', '/version', '/version/'];
const discoveryPaths = [...publicPaths, '/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*'];
const ownReviews = new Set([
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
  'authentication.k8s.io/selfsubjectreviews',
]);

export const builtinAuthorizer: Authorizer = {
  authorize: (attributes) =>
    isAllowed(attributes) ? { decision: 'allow', reason: '' } : { decision: 'noOpinion', reason: '' },
};

function isAllowed(attributes: AuthorizationAttributes): boolean {
  const { user, verb } = attributes;
  if (user.groups.includes(mastersGroup)) return true;
  const isAuthenticated = user.groups.includes(authenticatedGroup);
  if (attributes.type === 'path') {
    return verb === 'get' && matchesPath(isAuthenticated ? discoveryPaths : publicPaths, attributes.path);
  }
  return isAuthenticated && verb === 'create' && ownReviews.has(`${attributes.group}/${attributes.resource}`);
}

function matchesPath(patterns: readonly string[], path: string): boolean {
  return patterns.some((p) => (p.endsWith('*') ? path.startsWith(p.slice(0, -1)) : path === p));
}
