import { describe, expect, it } from 'vitest';
import {
  type AuthorizationAttributes,
  type AuthorizationDecision,
  type Authorizer,
  alwaysAllow,
  alwaysDeny,
} from './authorizer.ts';
import { unionAuthorizer } from './union-authorizer.ts';

const asked: AuthorizationAttributes = { type: 'path', user: { name: 'u', groups: [] }, verb: 'get', path: '/' };
const says = (decision: AuthorizationDecision['decision'], reason = '', error?: string): Authorizer => ({
  authorize: () => ({ decision, reason, ...(error !== undefined && { error: new Error(error) }) }),
});
const later = (authorizer: Authorizer): Authorizer => ({
  authorize: async (attributes) => authorizer.authorize(attributes),
});

describe('a union of authorizers', () => {
  it('answers without a promise as long as its authorizers do', () => {
    expect(unionAuthorizer([says('noOpinion'), alwaysAllow]).authorize(asked)).toEqual({
      decision: 'allow',
      reason: '',
    });
    expect(unionAuthorizer([says('noOpinion')]).authorize(asked)).toEqual({ decision: 'noOpinion', reason: '' });
    expect(unionAuthorizer([later(says('noOpinion')), alwaysAllow]).authorize(asked)).toBeInstanceOf(Promise);
  });

  it('ends at the first opinion, and only that one gives the reason', async () => {
    const never: Authorizer = {
      authorize: () => {
        throw new Error('asked too much');
      },
    };
    expect(unionAuthorizer([alwaysDeny, says('deny', 'no'), never]).authorize(asked)).toEqual({
      decision: 'deny',
      reason: 'no',
    });
    expect(await unionAuthorizer([later(says('allow', 'yes')), never]).authorize(asked)).toEqual({
      decision: 'allow',
      reason: 'yes',
    });
  });

  it('reports all reasons and errors when no authorizer has an opinion', async () => {
    const all = [says('noOpinion', 'a'), later(says('noOpinion', '', 'e1')), alwaysDeny, says('noOpinion', 'b', 'e2')];
    const { decision, reason, error } = await unionAuthorizer(all).authorize(asked);
    expect([decision, reason, error?.message]).toEqual(['noOpinion', 'a\nEverything is forbidden.\nb', '[e1, e2]']);
    const one = await unionAuthorizer([says('noOpinion', '', 'e1'), says('noOpinion')]).authorize(asked);
    expect([one.reason, one.error?.message]).toEqual(['', 'e1']);
  });

  it('forgets errors once an authorizer has an opinion', async () => {
    expect(await unionAuthorizer([says('noOpinion', '', 'e1'), alwaysAllow]).authorize(asked)).toEqual({
      decision: 'allow',
      reason: '',
    });
  });

  it('joins the errors of rules as Go does', async () => {
    const failing = (evaluationError: string, incomplete: boolean): Authorizer => ({
      ...alwaysDeny,
      rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete, evaluationError }),
    });
    const union = unionAuthorizer([failing('e1', false), failing('e2', true), failing('e1', false)]);
    expect(await union.rulesFor?.(asked.user, 'n')).toMatchObject({ incomplete: true, evaluationError: '[e1, e2]' });
  });
});
