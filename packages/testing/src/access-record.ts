// AccessRecord: what a user of a test cluster was asked to prove that it may, and what it might not. Two authorizers around the cluster's own
// see every question, also those of admission and of an apply that creates.
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from '@kapstan/apiserver';

export type ResourceAccess = Extract<AuthorizationAttributes, { type: 'resource' }>;

const noOpinion: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

export class AccessRecord {
  /** Asked first: hears of every request. */
  readonly first: Authorizer = { authorize: (attributes) => this.#hear(attributes, (follower) => follower.onRequest) };
  /** Asked last, so only about what nobody has allowed. */
  readonly last: Authorizer = { authorize: (attributes) => this.#hear(attributes, (follower) => follower.onRefusal) };
  readonly #followers = new Map<string, AccessFollower>();

  /** Calls the functions for each question about this user, one question at a time. */
  follow(user: string, follower: AccessFollower): void {
    this.#followers.set(user, follower);
  }

  #hear(
    attributes: AuthorizationAttributes,
    functionOf: (follower: AccessFollower) => (access: ResourceAccess) => void,
  ): AuthorizationDecision {
    const follower = this.#followers.get(attributes.user.name);
    // A plug-in asks about all groups to save itself further questions; nobody needs that right.
    if (follower !== undefined && attributes.type === 'resource' && attributes.group !== '*')
      functionOf(follower)(attributes);
    return noOpinion;
  }
}

export interface AccessFollower {
  readonly onRequest: (access: ResourceAccess) => void;
  readonly onRefusal: (access: ResourceAccess) => void;
}
