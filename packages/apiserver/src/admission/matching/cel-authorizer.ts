// Lets expressions ask the server's authorizer about the user of a request. Used by request-variables.ts. Source:
// apiserver pkg/cel/library/authz.go.
import { parseFieldSelector, parseLabelSelector } from '@kapstan/api';
import type {
  AuthorizationDecision as CelDecision,
  Authorizer as CelPort,
  AuthorizationRequest as CelRequest,
} from '@kapstan/cel';
import { authenticatedGroup, serviceAccountsGroup } from '../../authn/authenticator.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from '../../authz/authorizer.ts';
import { parsedTerms } from '../../authz/selector-terms.ts';
import type { UserInfo } from '../../registry/definition/request-context.ts';

export function celAuthorizerOf(authorizer: Authorizer, user: UserInfo): CelPort {
  const told = ({ decision, reason, error }: AuthorizationDecision): CelDecision => {
    const isAllowed = decision === 'allow';
    return error === undefined ? { isAllowed, reason } : { isAllowed, reason, error: error.message };
  };
  return {
    authorize: (request) => {
      const answer = authorizer.authorize(attributesOf(request, userOf(request, user)));
      return answer instanceof Promise ? answer.then(told) : told(answer);
    },
  };
}

function userOf({ serviceAccount }: CelRequest, user: UserInfo): UserInfo {
  if (serviceAccount === undefined) return user;
  const { namespace, name } = serviceAccount;
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`, authenticatedGroup],
  };
}

function attributesOf(request: CelRequest, user: UserInfo): AuthorizationAttributes {
  const { verb, path } = request;
  if (path !== undefined) return { type: 'path', user, verb, path };
  const fields = parsedTerms(request.fieldSelector ?? '', (text) => parseFieldSelector(text).requirements);
  const labels = parsedTerms(request.labelSelector ?? '', (text) => parseLabelSelector(text).requirements);
  return {
    type: 'resource',
    user,
    verb,
    group: request.apiGroup ?? '',
    version: '*',
    namespace: request.namespace ?? '',
    resource: request.resource ?? '',
    subresource: request.subresource ?? '',
    name: request.name ?? '',
    fieldSelector: fields,
    labelSelector: labels,
  };
}
