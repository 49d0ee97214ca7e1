// The Authorizer of --authorization-mode=ABAC: policies of a file, one per line, that name a user or a group and their rights. The file is
// read once, at the start. Source: pkg/auth/authorizer/abac.
import type { UserInfo } from '../registry/definition/request-context.ts';
import type { AttributePolicy } from './attribute-policy.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './authorizer.ts';

const readVerbs = ['get', 'list', 'watch'];
const allowed: AuthorizationDecision = { decision: 'allow', reason: '' };
const unmatched: AuthorizationDecision = { decision: 'noOpinion', reason: 'No policy matched.' };

/** Returns an authorizer that follows these policies (ABAC). */
export function attributeAuthorizer(policies: readonly AttributePolicy[]): Authorizer {
  return {
    authorize: (attributes) => (policies.some((policy) => matches(policy, attributes)) ? allowed : unmatched),
    rulesFor: (user, namespace) => {
      const those = policies.filter(
        (policy) => isAbout(policy, user) && (policy.namespace === '*' || policy.namespace === namespace),
      );
      return {
        resourceRules: those
          .filter(({ resource }) => resource !== '')
          .map(({ readonly, apiGroup, resource }) => ({
            verbs: verbsOf(readonly),
            apiGroups: [apiGroup],
            resources: [resource],
          })),
        nonResourceRules: those
          .filter(({ nonResourcePath }) => nonResourcePath !== '')
          .map(({ readonly, nonResourcePath }) => ({ verbs: verbsOf(readonly), nonResourceURLs: [nonResourcePath] })),
        incomplete: false,
      };
    },
  };
}

function verbsOf(readonly: boolean): readonly string[] {
  return readonly ? readVerbs : ['*'];
}

function matches(policy: AttributePolicy, attributes: AuthorizationAttributes): boolean {
  if (!isAbout(policy, attributes.user)) return false;
  if (policy.readonly && !readVerbs.includes(attributes.verb)) return false;
  if (attributes.type === 'path') return coversPath(policy.nonResourcePath, attributes.path);
  return (
    covers(policy.namespace, attributes.namespace) &&
    covers(policy.resource, attributes.resource) &&
    covers(policy.apiGroup, attributes.group)
  );
}

/** A policy that names both must match both; one that names neither matches nobody. */
function isAbout({ user, group }: AttributePolicy, { name, groups }: UserInfo): boolean {
  if (user === '' && group === '') return false;
  if (user !== '' && !covers(user, name)) return false;
  return group === '' || group === '*' || groups.includes(group);
}

function covers(pattern: string, value: string): boolean {
  return pattern === '*' || pattern === value;
}

function coversPath(pattern: string, path: string): boolean {
  return covers(pattern, path) || (pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, '')));
}
