import { isBadRequest, isInternalError, type UnstructuredObject } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import type { UserInfo } from '@kapstan/apiserver';
import { knownTokens, type TokenAuthenticator } from '@kapstan/apiserver';
import { describe, expect, it } from 'vitest';
import { identityReviews } from './identity-reviews.ts';

const known = knownTokens(new Map([['good', { name: 'bob', uid: '7', groups: ['dev'] }]]), ['api']);
const accepting = (audiences: readonly string[]): TokenAuthenticator => ({
  authenticateToken: () => ({ type: 'accepted', user: { name: 'c', groups: [] }, audiences }),
});
const refusing: TokenAuthenticator = { authenticateToken: () => ({ type: 'refused', error: 'it is stale' }) };

async function review(
  resource: string,
  object: UnstructuredObject,
  options: {
    readonly authenticators?: readonly TokenAuthenticator[];
    readonly user?: UserInfo;
    readonly warn?: (text: string) => void;
  } = {},
): Promise<UnstructuredObject> {
  const { authenticators = [known], user = { name: 'alice', groups: [] }, warn = () => undefined } = options;
  const clock = new VirtualClock();
  const served = identityReviews({ tokens: { authenticators, apiAudiences: ['api'] }, clock }).find(
    ({ definition }) => definition.resource === resource,
  );
  const context = { user, namespace: '', dryRun: false, fieldManager: '', fieldValidation: 'Warn' as const };
  const stored = await served?.store.create({ ...context, warn }, object);
  return stored?.object as UnstructuredObject;
}

const statusOf = async (spec: unknown, authenticators?: readonly TokenAuthenticator[]): Promise<unknown> =>
  (await review('tokenreviews', { spec }, authenticators === undefined ? {} : { authenticators })).status;

describe('a review of a token', () => {
  it('names its user, with the group of all authenticated users', async () => {
    const user = { username: 'bob', uid: '7', groups: ['dev', 'system:authenticated'] };
    expect(await statusOf({ token: 'good' })).toEqual({ authenticated: true, user, audiences: ['api'] });
  });

  it('is asked for certain audiences', async () => {
    expect(await statusOf({ token: 'good', audiences: ['x', 'api'] })).toMatchObject({ audiences: ['api'] });
    expect(await statusOf({ token: 'good', audiences: ['x'] })).toEqual({ user: {}, error: 'invalid bearer token' });
    expect(await statusOf({ token: 't', audiences: ['x'] }, [known, accepting(['x'])])).toMatchObject({
      authenticated: true,
      audiences: ['x'],
    });
  });

  it('says why a token is not accepted', async () => {
    expect(await statusOf({ token: 'bad' })).toEqual({ user: {}, error: 'invalid bearer token' });
    expect(await statusOf({ token: 'bad' }, [known, refusing])).toEqual({
      user: {},
      error: '[invalid bearer token, it is stale]',
    });
  });

  it('passes on what authenticators remark on it', async () => {
    const remarking: TokenAuthenticator = {
      authenticateToken: (token, audiences, remarks) => {
        remarks?.warn(`${token} is old`);
        return known.authenticateToken(token, audiences);
      },
    };
    const warnings: string[] = [];
    const warn = (text: string): void => void warnings.push(text);
    await review('tokenreviews', { spec: { token: 'good' } } as UnstructuredObject, {
      authenticators: [remarking],
      warn,
    });
    expect(warnings).toEqual(['good is old']);
  });

  it('refuses to review nothing, and an authenticator that forgets the audiences', async () => {
    const none: unknown = await statusOf({ token: '' }).catch((error: unknown) => error);
    expect([isBadRequest(none), (none as Error).message]).toEqual([
      true,
      'token is required for TokenReview in authentication',
    ]);
    const forgetful: unknown = await statusOf({ token: 't' }, [accepting([])]).catch((error: unknown) => error);
    expect(isInternalError(forgetful)).toBe(true);
  });
});

describe('a review of oneself', () => {
  it('answers with the user of the request and the time', async () => {
    const user = { name: 'u', uid: '1', groups: ['g'], extra: { scope: ['a'] } };
    expect(await review('selfsubjectreviews', {}, { user })).toEqual({
      kind: 'SelfSubjectReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { creationTimestamp: expect.stringMatching(/^\d{4}-.*Z$/) },
      status: { userInfo: { username: 'u', uid: '1', groups: ['g'], extra: { scope: ['a'] } } },
    });
  });
});
