// Lets a main API server decide about permissions, by access reviews. Used by API servers that join another one.
// Source: apiserver authorizerfactory (DelegatingAuthorizerConfig), plugin/pkg/authorizer/webhook.
import { type ResourceClient, systemClock } from '@kapstan/api';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from '@kapstan/apiserver';
import { SubjectAccessReview } from '@kapstan/kinds/authorization.k8s.io/v1';
import { DelegatedAnswers } from '../authentication/delegated-answers.ts';
import type { DelegationOptions } from '../authentication/delegated-authenticator.ts';

/** Longest wait for an answer. */
const timeoutMs = 10_000;

/** Refuses with the main server's reason. Selectors of a request are left out, so that it is judged as one for all objects. */
export function delegatedAuthorizer({ client, keptMs = 10_000, clock = systemClock }: DelegationOptions): Authorizer {
  const answers = new DelegatedAnswers<AuthorizationDecision>({ keptMs, clock });
  return {
    authorize: (attributes) => {
      const spec = specOf(attributes);
      return answers.of(JSON.stringify(spec), () => review(client, spec));
    },
  };
}

type Spec = NonNullable<SubjectAccessReview['spec']>;

function specOf(attributes: AuthorizationAttributes): Spec {
  const { name: user, uid = '', groups, extra = {} } = attributes.user;
  const given = Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));
  const who = { user, uid, groups: [...groups], extra: given };
  const { verb } = attributes;
  if (attributes.type === 'path') return { ...who, nonResourceAttributes: { verb, path: attributes.path } };
  const { group, version, namespace, resource, subresource, name } = attributes;
  return { ...who, resourceAttributes: { verb, group, version, namespace, resource, subresource, name } };
}

async function review(client: ResourceClient, spec: Spec): Promise<AuthorizationDecision> {
  const body: SubjectAccessReview = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
  const { status } = await client.create(SubjectAccessReview, body, { signal: AbortSignal.timeout(timeoutMs) });
  const reason = status?.reason ?? '';
  if (status?.allowed === true) return { decision: 'allow', reason };
  return { decision: status?.denied === true ? 'deny' : 'noOpinion', reason };
}
