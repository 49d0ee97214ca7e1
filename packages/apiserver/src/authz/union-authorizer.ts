// unionAuthorizer asks several authorizers in turn; the first opinion counts. A request that all of them answer at once is
// decided without a promise or a closure, because most are. Source: apiserver pkg/authorization/union.
import { aggregateTexts } from '@kapstan/api/errors';
import { isPromiseLike } from '@kapstan/api/internal';
import type { MaybePromise } from '../registry/definition/first-decision.ts';
import type { UserInfo } from '../registry/definition/request-context.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer, UserRules } from './authorizer.ts';

/** Returns an authorizer that asks these in order; the first that allows or denies decides. */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return new UnionAuthorizer(authorizers);
}

/** Reasons given by authorizers without an opinion. */
interface Heard {
  readonly reasons: string[];
  readonly errors: Error[];
}

const silence: AuthorizationDecision = Object.freeze({ decision: 'noOpinion', reason: '' });

class UnionAuthorizer implements Authorizer {
  readonly #authorizers: readonly Authorizer[];

  constructor(authorizers: readonly Authorizer[]) {
    this.#authorizers = authorizers;
  }

  authorize(attributes: AuthorizationAttributes): MaybePromise<AuthorizationDecision> {
    return this.#from(0, attributes, undefined);
  }

  /** Returns the rules of all that can list them; the others make the list incomplete. */
  async rulesFor(user: UserInfo, namespace: string): Promise<UserRules> {
    const all = await Promise.all(this.#authorizers.map((authorizer) => authorizer.rulesFor?.(user, namespace)));
    const errors = all.flatMap((rules) => rules?.evaluationError ?? []);
    return {
      resourceRules: all.flatMap((rules) => rules?.resourceRules ?? []),
      nonResourceRules: all.flatMap((rules) => rules?.nonResourceRules ?? []),
      incomplete: all.some((rules) => rules?.incomplete ?? true),
      evaluationError: errors.length === 0 ? undefined : aggregateTexts(errors),
    };
  }

  #from(
    first: number,
    attributes: AuthorizationAttributes,
    before: Heard | undefined,
  ): MaybePromise<AuthorizationDecision> {
    let heard = before;
    for (let at = first; at < this.#authorizers.length; at++) {
      const answer = (this.#authorizers[at] as Authorizer).authorize(attributes);
      if (isPromiseLike(answer)) return this.#after(answer, { next: at + 1, attributes, heard });
      if (answer.decision !== 'noOpinion') return answer;
      heard = noted(heard, answer);
    }
    return heard === undefined ? silence : withoutOpinion(heard);
  }

  async #after(
    pending: PromiseLike<AuthorizationDecision>,
    { next, attributes, heard }: { next: number; attributes: AuthorizationAttributes; heard: Heard | undefined },
  ): Promise<AuthorizationDecision> {
    const answer = await pending;
    if (answer.decision !== 'noOpinion') return answer;
    return this.#from(next, attributes, noted(heard, answer));
  }
}

function noted(heard: Heard | undefined, { reason, error }: AuthorizationDecision): Heard | undefined {
  if (reason === '' && error === undefined) return heard;
  const all = heard ?? { reasons: [], errors: [] };
  if (reason !== '') all.reasons.push(reason);
  if (error !== undefined) all.errors.push(error);
  return all;
}

function withoutOpinion({ reasons, errors }: Heard): AuthorizationDecision {
  const reason = reasons.join('\n');
  if (errors.length === 0) return { decision: 'noOpinion', reason };
  const error = errors.length === 1 ? errors[0] : new Error(aggregateTexts(errors.map(({ message }) => message)));
  return { decision: 'noOpinion', reason, error };
}
