// AccessRecord records the permissions of a test cluster's user that were checked, and the missing ones. Two authorizers around the
// cluster's own see every question, including those of admission and of an apply that creates.
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from '@kapstan/apiserver';

export type ResourceAccess = Extract<AuthorizationAttributes, { type: 'resource' }>;

const noOpinion: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

export class AccessRecord {
  /** The authorizer that is asked first, so it sees every request. */
  readonly first: Authorizer = { authorize: (attributes) => this.#hear(attributes, (follower) => follower.onRequest) };
  /** The authorizer that is asked last, so it sees only requests that no other authorizer has allowed. */
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
    // A plug-in asks about all groups to avoid further questions; that right is never needed.
    if (follower !== undefined && attributes.type === 'resource' && attributes.group !== '*')
      functionOf(follower)(attributes);
    return noOpinion;
  }
}

export interface AccessFollower {
  readonly onRequest: (access: ResourceAccess) => void;
  readonly onRefusal: (access: ResourceAccess) => void;
}
