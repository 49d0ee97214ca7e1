import { silentLogger } from '@kapstan/api';
import { formatMetrics } from '@kapstan/api/internal';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { WebhookError } from '../webhook/webhook-pool.ts';
import type { ReviewSpec, ReviewStatus } from './access-review.ts';
import { AuthorizationMetrics } from './authorization-metrics.ts';
import type { AuthorizationAttributes } from './authorizer.ts';
import { unionAuthorizer } from './union-authorizer.ts';
import { WebhookAuthorizer, type WebhookAuthorizerOptions } from './webhook-authorizer.ts';

const pod = (name: string): AuthorizationAttributes => ({
  type: 'resource',
  user: { name: 'alice', groups: ['dev'] },
  verb: 'get',
  group: '',
  version: 'v1',
  namespace: 'ns',
  resource: 'pods',
  subresource: '',
  name,
});
const yes: ReviewStatus = { allowed: true, denied: false, reason: '' };
const no: ReviewStatus = { allowed: false, denied: false, reason: '' };
const failed = (code: number): WebhookError => new WebhookError(`failed with ${code}`, { reason: 'refused', code });

let clock: VirtualClock;
let metrics: AuthorizationMetrics;
let asked: ReviewSpec[];

beforeEach(() => {
  clock = new VirtualClock();
  metrics = new AuthorizationMetrics();
  asked = [];
});

function authorizerWith(
  answer: (spec: ReviewSpec) => ReviewStatus | Promise<ReviewStatus>,
  options: Partial<WebhookAuthorizerOptions> = {},
): WebhookAuthorizer {
  return new WebhookAuthorizer({
    name: 'hook',
    authorizedTtlMs: 300_000,
    unauthorizedTtlMs: 30_000,
    onError: 'noOpinion',
    conditions: undefined,
    ask: async (spec) => {
      asked.push(spec);
      return await answer(spec);
    },
    metrics,
    clock,
    logger: silentLogger,
    random: () => 0.5,
    ...options,
  });
}

describe('an authorization webhook', () => {
  it('is asked once for what several requests ask at the same time', async () => {
    let reply: ((status: ReviewStatus) => void) | undefined;
    const authorizer = authorizerWith(() => new Promise((resolve) => (reply = resolve)));
    const many = Array.from({ length: 50 }, () => authorizer.authorize(pod('a')));
    await settle();
    expect(asked.length).toBe(1);
    reply?.(yes);
    expect(new Set((await Promise.all(many)).map(({ decision }) => decision))).toEqual(new Set(['allow']));
  });

  it('does not keep others waiting while it is silent about one', async () => {
    const authorizer = authorizerWith(({ resourceAttributes }) =>
      resourceAttributes?.name === 'a' ? new Promise(() => undefined) : yes,
    );
    void authorizer.authorize(pod('a'));
    expect(await authorizer.authorize(pod('b'))).toMatchObject({ decision: 'allow' });
  });

  it('keeps answers as long as they count, and gives a kept one without a promise', async () => {
    const authorizer = authorizerWith(({ resourceAttributes }) => (resourceAttributes?.name === 'a' ? yes : no));
    await authorizer.authorize(pod('a'));
    await authorizer.authorize(pod('b'));
    await clock.advance(29_999);
    expect(authorizer.authorize(pod('a'))).toEqual({ decision: 'allow', reason: '' });
    expect(authorizer.authorize(pod('b'))).toEqual({ decision: 'noOpinion', reason: '' });
    await clock.advance(1);
    expect(authorizer.authorize(pod('b'))).toBeInstanceOf(Promise);
    await clock.advance(270_000);
    expect(authorizer.authorize(pod('a'))).toBeInstanceOf(Promise);
    await settle();
    expect(asked.length).toBe(4);
  });

  it('keeps nothing where that is turned off', async () => {
    const authorizer = authorizerWith(() => yes, { authorizedTtlMs: 0 });
    await authorizer.authorize(pod('a'));
    await authorizer.authorize(pod('a'));
    expect(asked.length).toBe(2);
  });

  it('keeps no answer about names of 10,000 characters together', async () => {
    const authorizer = authorizerWith(() => yes);
    const others = 'get'.length + 'v1'.length + 'ns'.length + 'pods'.length;
    for (const length of [10_000 - others, 9_999 - others]) {
      await authorizer.authorize(pod('x'.repeat(length)));
      await authorizer.authorize(pod('x'.repeat(length)));
    }
    expect(asked.length).toBe(3);
  });

  it('forgets the answer that was used least recently when there are 8,192', async () => {
    const authorizer = authorizerWith(() => yes);
    for (let at = 0; at < 8_192; at++) await authorizer.authorize(pod(`p${at}`));
    expect(authorizer.authorize(pod('p0'))).not.toBeInstanceOf(Promise);
    await authorizer.authorize(pod('one more'));
    expect(authorizer.authorize(pod('p0'))).not.toBeInstanceOf(Promise);
    expect(authorizer.authorize(pod('p1'))).toBeInstanceOf(Promise);
    await settle();
  });

  it('forgets the answers that were used least recently when their reasons have 32 MiB', async () => {
    const reason = 'x'.repeat(1024 * 1024);
    const authorizer = authorizerWith(() => ({ ...yes, reason }));
    for (let at = 0; at < 33; at++) await authorizer.authorize(pod(`p${at}`));
    expect(authorizer.authorize(pod('p32'))).not.toBeInstanceOf(Promise);
    expect(authorizer.authorize(pod('p0'))).toBeInstanceOf(Promise);
    await settle();
    expect(authorizer.authorize(pod('p32'))).not.toBeInstanceOf(Promise);
    expect(authorizer.authorize(pod('p1'))).toBeInstanceOf(Promise);
    await settle();
  });

  it('is asked up to five times, with growing pauses, when its failure may pass', async () => {
    const at: number[] = [];
    const authorizer = authorizerWith(() => {
      at.push(Math.round(clock.monotonicNow()));
      throw failed(500);
    });
    const deciding = authorizer.authorize(pod('a'));
    for (let step = 0; step < 80; step++) await clock.advance(100);
    expect(await deciding).toMatchObject({ decision: 'noOpinion', error: failed(500) });
    const start = at[0] ?? 0;
    expect(at.map((ms) => ms - start)).toEqual([0, 550, 1375, 2613, 4469]);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    [400, 1],
    [403, 1],
    [503, 1],
    [429, 2],
    [504, 2],
  ])('after %i is asked %i times', async (code, times) => {
    let failures = 1;
    const authorizer = authorizerWith(() => {
      if (failures-- > 0) throw failed(code);
      return yes;
    });
    const deciding = authorizer.authorize(pod('a'));
    await clock.advance(600);
    expect((await deciding).decision).toBe(times === 2 ? 'allow' : 'noOpinion');
    expect(asked.length).toBe(times);
  });

  it('denies when it fails, if that is its policy, and keeps no failure', async () => {
    let isBroken = true;
    const authorizer = authorizerWith(
      () => {
        if (isBroken) throw failed(400);
        return yes;
      },
      { onError: 'deny' },
    );
    expect(await authorizer.authorize(pod('a'))).toMatchObject({ decision: 'deny', reason: '' });
    isBroken = false;
    expect(await authorizer.authorize(pod('a'))).toMatchObject({ decision: 'allow' });
    expect(formatMetrics(metrics.families())).not.toContain('fail_open_total{');
  });

  it('denies with an error when this server has too many calls of it under way, whatever its policy', async () => {
    const busy = new WebhookError('too many calls', { reason: 'busy' });
    const authorizer = authorizerWith(() => {
      throw busy;
    });
    expect(await authorizer.authorize(pod('a'))).toEqual({ decision: 'deny', reason: '', error: busy });
    expect(asked.length).toBe(1);
    const allowsAll = { authorize: () => ({ decision: 'allow', reason: '' }) as const };
    expect(await unionAuthorizer([authorizer, allowsAll]).authorize(pod('a'))).toMatchObject({ decision: 'deny' });
    expect(formatMetrics(metrics.families())).not.toContain('fail_open_total{');
  });

  it('shows its calls and failures under kube-apiserver’s names', async () => {
    const counted = metrics.counted(
      'Webhook',
      'hook',
      authorizerWith(({ user }) => {
        if (user === 'alice') return yes;
        throw new WebhookError('late', { reason: 'timeout' });
      }),
    );
    await counted.authorize(pod('a'));
    await counted.authorize({ ...pod('a'), user: { name: 'bob', groups: [] } });
    const text = formatMetrics(metrics.families());
    expect(text).toContain('apiserver_authorization_decisions_total{decision="allowed",name="hook",type="Webhook"} 1');
    expect(text).toContain('apiserver_authorization_webhook_evaluations_total{name="hook",result="success"} 1');
    expect(text).toContain(
      'apiserver_authorization_webhook_evaluations_fail_open_total{name="hook",result="timeout"} 1',
    );
  });
});
