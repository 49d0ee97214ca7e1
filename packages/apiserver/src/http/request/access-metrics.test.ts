import { runInNewContext } from 'node:vm';
import { formatMetrics } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AuthenticationResult } from '../../authn/authenticator.ts';
import { Impersonator } from '../../authn/impersonator.ts';
import type { AuthorizationAttributes, Authorizer } from '../../authz/authorizer.ts';
import { AccessMetrics } from './access-metrics.ts';

let clock: VirtualClock;
let access: AccessMetrics;
beforeEach(() => {
  clock = new VirtualClock();
  access = new AccessMetrics(clock);
});

/** Returns the lines of one metric without its buckets. */
async function shown(name: string): Promise<string[]> {
  const text = formatMetrics(access.families());
  return text.split('\n').filter((line) => line.startsWith(name) && !line.includes('_bucket'));
}

const attributes = (verb: string): AuthorizationAttributes => ({
  type: 'path',
  user: { name: 'alice', groups: [] },
  verb,
  path: '/version',
});
const answering = (decision: 'allow' | 'deny' | 'noOpinion', ms = 0): Authorizer => ({
  authorize: async () => {
    await clock.advance(ms);
    return { decision, reason: '' };
  },
});

describe('authentications', () => {
  it.each<[string, AuthenticationResult]>([
    ['failure', 'none'],
    ['error', 'invalid'],
    ['success', { name: 'admin', groups: [] }],
  ])('are counted as %s', async (result, answer) => {
    await access.authenticated(async () => {
      await clock.advance(100);
      return answer;
    });
    expect(await shown('authentication_')).toEqual([
      `authentication_attempts{result="${result}"} 1`,
      `authentication_duration_seconds_sum{result="${result}"} 0.1`,
      `authentication_duration_seconds_count{result="${result}"} 1`,
    ]);
  });

  it('are counted by what a promise of another realm resolves with', async () => {
    const ask = (): Promise<AuthenticationResult> => runInNewContext('Promise.resolve("none")');
    expect(await access.authenticated(ask)).toBe('none');
    expect(await shown('authentication_attempts')).toEqual(['authentication_attempts{result="failure"} 1']);
  });

  it('are errors where the credentials could not be checked', async () => {
    const ask = () => Promise.reject(new Error('no store'));
    await expect(access.authenticated(ask)).rejects.toThrow('no store');
    expect(await shown('authentication_attempts')).toEqual(['authentication_attempts{result="error"} 1']);
    expect(await shown('authenticated_user_requests')).toEqual([]);
  });

  it.each([
    ['admin', 'admin'],
    ['kubelet', 'kubelet'],
    ['system:serviceaccount:kube-system:default', 'system:serviceaccount:kube-system:default'],
    ['alice@example.com', 'email_id'],
    ['system:anonymous', 'other'],
  ])('of %s show as of %s: names are the users’ own', async (name, label) => {
    await access.authenticated(async () => ({ name, groups: [] }));
    expect(await shown('authenticated_user_requests')).toEqual([`authenticated_user_requests{username="${label}"} 1`]);
  });
});

describe('authorizations', () => {
  it.each([
    ['allowed', 'allow'],
    ['denied', 'deny'],
    ['no-opinion', 'noOpinion'],
  ] as const)('are counted as %s', async (result, decision) => {
    const counted = access.ofRequests(answering(decision, 20));
    expect((await counted.authorize(attributes('get'))).decision).toBe(decision);
    expect(await shown('authorization_')).toEqual([
      `authorization_attempts_total{result="${result}"} 1`,
      `authorization_duration_seconds_sum{result="${result}"} 0.02`,
      `authorization_duration_seconds_count{result="${result}"} 1`,
    ]);
  });

  it('are errors where nobody could say', async () => {
    const counted = access.ofRequests({ authorize: () => Promise.reject(new Error('no store')) });
    await expect(counted.authorize(attributes('get'))).rejects.toThrow('no store');
    expect(await shown('authorization_attempts')).toEqual(['authorization_attempts_total{result="error"} 1']);
  });
});

describe('impersonations', () => {
  const prefix = 'apiserver_impersonation';

  it.each([
    ['impersonate', 'legacy'],
    ['impersonate:user-info', 'user-info'],
    ['impersonate-on:user-info:list', 'user-info'],
    ['impersonate:serviceaccount', 'serviceaccount'],
    ['impersonate-on:arbitrary-node:get', 'arbitrary-node'],
    ['impersonate:associated-node', 'associated-node'],
    ['get', 'unknown'],
  ])('ask with %s in the mode %s', async (verb, mode) => {
    await access.ofImpersonations(answering('allow', 100)).authorize(attributes(verb));
    await access.ofImpersonations(answering('noOpinion')).authorize(attributes(verb));
    expect(await shown(`${prefix}_authorization`)).toEqual([
      `${prefix}_authorization_attempts_total{mode="${mode}",decision="allowed"} 1`,
      `${prefix}_authorization_attempts_total{mode="${mode}",decision="denied"} 1`,
      `${prefix}_authorization_attempts_duration_seconds_sum{mode="${mode}",decision="allowed"} 0.1`,
      `${prefix}_authorization_attempts_duration_seconds_count{mode="${mode}",decision="allowed"} 1`,
      `${prefix}_authorization_attempts_duration_seconds_sum{mode="${mode}",decision="denied"} 0`,
      `${prefix}_authorization_attempts_duration_seconds_count{mode="${mode}",decision="denied"} 1`,
    ]);
  });

  /** Impersonates Bob if the verb is allowed; each question takes 10 ms. */
  async function impersonate(allows: (verb: string) => boolean): Promise<void> {
    const authorizer: Authorizer = {
      authorize: async ({ verb }) => {
        await clock.advance(10);
        return { decision: allows(verb) ? 'allow' : 'noOpinion', reason: '' };
      },
    };
    const impersonator = new Impersonator(access.ofImpersonations(authorizer), {
      clock,
      onAttempt: (record) => access.addImpersonation(record),
    });
    const wanted = { name: 'bob', uid: '', groups: [], extra: new Map<string, string[]>() };
    await impersonator.impersonate(wanted, attributes('get')).catch(() => undefined);
  }

  it.each([
    ['user-info', 'allowed', (verb: string) => verb.includes(':user-info'), 0.02],
    ['legacy', 'allowed', (verb: string) => verb === 'impersonate', 0.02],
    ['', 'denied', () => false, 0.02],
  ])('in the mode "%s" are %s', async (mode, decision, allows, seconds) => {
    await impersonate(allows);
    expect(await shown(`${prefix}_attempts`)).toEqual([
      `${prefix}_attempts_total{mode="${mode}",decision="${decision}"} 1`,
      `${prefix}_attempts_duration_seconds_sum{mode="${mode}",decision="${decision}"} ${seconds}`,
      `${prefix}_attempts_duration_seconds_count{mode="${mode}",decision="${decision}"} 1`,
    ]);
  });

  it('add up, attempts beside the questions that they took', async () => {
    await impersonate((verb) => verb.includes(':user-info'));
    await impersonate((verb) => verb.includes(':user-info'));
    await impersonate(() => false);
    expect(await shown(`${prefix}_attempts_total`)).toEqual([
      `${prefix}_attempts_total{mode="user-info",decision="allowed"} 2`,
      `${prefix}_attempts_total{mode="",decision="denied"} 1`,
    ]);
    expect(await shown(`${prefix}_authorization_attempts_total`)).toEqual([
      `${prefix}_authorization_attempts_total{mode="user-info",decision="allowed"} 4`,
      `${prefix}_authorization_attempts_total{mode="user-info",decision="denied"} 1`,
      `${prefix}_authorization_attempts_total{mode="legacy",decision="denied"} 1`,
    ]);
  });
});
