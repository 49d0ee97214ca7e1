// Reviews of identity: the owner of a token (TokenReview), and the caller (SelfSubjectReview). Virtual resources over
// the token authenticators.
import { type Clock, formatTime } from '@kapstan/api';
import { badRequest, internalError } from '@kapstan/api/errors';
import type { ServedResource, TokenAuthenticationOptions, UserInfo, VirtualStoreOptions } from '@kapstan/apiserver';
import { authenticateToken, withAuthenticatedGroup } from '@kapstan/apiserver/internal';
import type { SelfSubjectReview, TokenReview, UserInfo as WireUser } from '@kapstan/kinds/authentication.k8s.io/v1';
import { type VirtualKind, virtualResource } from '../builtin/virtual-resource.ts';

/** Options of the kinds TokenReview and SelfSubjectReview. */
export interface IdentityReviewsOptions extends VirtualStoreOptions {
  readonly tokens: TokenAuthenticationOptions;
  readonly clock: Clock;
}

/** Returns the two resources of authentication.k8s.io/v1. */
export function identityReviews(options: IdentityReviewsOptions): ServedResource[] {
  return [
    virtualResource(tokenReviews(options.tokens), options),
    virtualResource(selfSubjectReviews(options.clock), options),
  ];
}

function tokenReviews(tokens: TokenAuthenticationOptions): VirtualKind<TokenReview> {
  return {
    id: 'authentication.k8s.io/v1/tokenreviews',
    validate: ({ spec }) => {
      if (!spec.token) throw badRequest('token is required for TokenReview in authentication');
    },
    answer: async (review, remarks) => {
      const { token, audiences = [] } = review.spec;
      const result = await authenticateToken(tokens, token, { audiences, remarks });
      if (result.type === 'refused') return { ...review, status: { user: {}, error: result.error } };
      const asked = audiences.length === 0 ? tokens.apiAudiences : audiences;
      if (asked.length > 0 && result.audiences.length === 0) throw internalError('error validating audiences');
      const user = wireUser(withAuthenticatedGroup(result.user));
      const forWhom = result.audiences.length === 0 ? {} : { audiences: [...result.audiences] };
      return { ...review, status: { authenticated: true, user, ...forWhom } };
    },
  };
}

function selfSubjectReviews(clock: Clock): VirtualKind<SelfSubjectReview> {
  return {
    id: 'authentication.k8s.io/v1/selfsubjectreviews',
    answer: (_review, { user }): SelfSubjectReview => ({
      kind: 'SelfSubjectReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { creationTimestamp: formatTime(clock.now()) },
      status: { userInfo: wireUser(user) },
    }),
  };
}

function wireUser({ name, uid, groups, extra = {} }: UserInfo): WireUser {
  const entries = Object.entries(extra).map(([key, values]): [string, string[]] => [key, [...values]]);
  return {
    ...(name === '' ? {} : { username: name }),
    ...(uid ? { uid } : {}),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(entries.length === 0 ? {} : { extra: Object.fromEntries(entries) }),
  };
}
