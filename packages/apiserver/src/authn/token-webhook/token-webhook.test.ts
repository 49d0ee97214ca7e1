import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { silentLogger } from '@kapstan/api';
import { nextTurn } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../../testing/self-signed.ts';
import { WebhookPool } from '../../webhook/webhook-pool.ts';
import type { WebhookIdentity } from '../../webhook/webhook-target.ts';
import type { TokenAuthenticator, TokenResult } from '../token-authenticator.ts';
import { TokenCache } from './token-cache.ts';
import { TokenCacheMetrics } from './token-cache-metrics.ts';
import { TokenWebhook, type TokenWebhookOptions } from './token-webhook.ts';

interface Recorded {
  readonly name: string;
  readonly calls: number;
  readonly code?: number;
  readonly body: string;
  readonly user?: unknown;
  readonly error?: string;
}

const fixture = new URL('../../../fixtures/token-webhook-answers.json', import.meta.url);
const { cases, request: recordedRequest } = JSON.parse(readFileSync(fixture, 'utf8')) as {
  readonly cases: readonly Recorded[];
  readonly request: { readonly url: string; readonly body: unknown };
};

interface Asked {
  readonly url: string | undefined;
  readonly body: { readonly spec: { readonly token: string; readonly audiences?: readonly string[] } };
  readonly headers: IncomingMessage['headers'];
}

let server: Server;
let ca: string;
let asked: Asked[];
let answer: (asked: Asked, response: ServerResponse) => void;
let clock: VirtualClock;
let logged: unknown[];

const audience = 'https://kubernetes.default.svc';
const review = { group: 'authentication.k8s.io', version: 'v1beta1', kind: 'TokenReview' } as const;

beforeAll(async () => {
  const { cert, key } = await selfSigned('CN=hook');
  ca = cert;
  server = createServer({ cert, key }, async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const call = { url: request.url, headers: request.headers, body: JSON.parse(Buffer.concat(parts).toString()) };
    asked.push(call as Asked);
    answer(call as Asked, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The pool loads this at its first call, while the clock of these tests would run on.
  await import('../../webhook/webhook-connections.ts');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
  logged = [];
  clock = new VirtualClock();
});

const accepts =
  (name: string): typeof answer =>
  (_asked, response) =>
    void response.end(JSON.stringify({ status: { authenticated: true, user: { username: name } } }));

function webhook(options: Partial<TokenWebhookOptions> = {}, identity?: WebhookIdentity): TokenWebhook {
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/authn`;
  const logger = { ...silentLogger, error: (text: string, fields?: object) => void logged.push([text, fields]) };
  const target = { url, caBundle: ca, identity };
  const pool = new WebhookPool({ clock });
  return new TokenWebhook({
    target,
    review,
    apiAudiences: [audience],
    pool,
    clock,
    logger,
    random: () => 0,
    ...options,
  });
}

function cached(authenticator: TokenAuthenticator, metrics: TokenCacheMetrics = new TokenCacheMetrics()): TokenCache {
  return new TokenCache({ authenticator, acceptedMs: 120_000, unknownMs: 120_000, metrics, clock });
}

/** Advances the clock until the answer is there. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const marked = promise.finally(() => {
    isSettled = true;
  });
  while (!isSettled) {
    for (let turn = 0; turn < 20 && !isSettled; turn++) await nextTurn();
    if (!isSettled) await clock.advance(100);
  }
  return marked;
}

function shown(result: TokenResult): unknown {
  if (result.type === 'accepted') return result.user;
  return result.type === 'unknown' ? '' : result.error;
}

describe('a webhook for tokens', () => {
  it.each(cases.map((recorded) => [recorded.name, recorded] as const))(
    'is understood as kube-apiserver understands it: %s',
    async (_name, { calls, code = 200, body, user, error }) => {
      answer = (_asked, response) => void response.writeHead(code, { 'content-type': 'text/plain' }).end(body);
      const result = await settled(webhook().authenticateToken('t', [audience]));
      expect(shown(result)).toEqual(user ?? error);
      expect(asked).toHaveLength(calls);
    },
  );

  it('that redirects to another host gets no token there', async () => {
    answer = ({ url }, response) => {
      const { port } = server.address() as AddressInfo;
      if (url === '/there') accepts('mallory')({} as Asked, response);
      else response.writeHead(307, { location: `https://localhost:${port}/there` }).end();
    };
    const result = await settled(webhook({}, { trustsAnyone: true }).authenticateToken('t', []));
    expect(shown(result)).toMatch(
      /: the webhook redirects to another host, to which the credentials in the review are not sent$/,
    );
    expect(asked.map(({ url }) => url)).toEqual(['/authn?timeout=30s']);
  });

  it('is asked as kube-apiserver asks it', async () => {
    answer = accepts('alice');
    await webhook().authenticateToken('alice', [audience]);
    expect(asked.map(({ url, body }) => ({ url, body }))).toEqual([
      { url: recordedRequest.url, body: recordedRequest.body },
    ]);
  });

  it('is asked in the other version, and without audiences where none are wanted', async () => {
    answer = accepts('alice');
    await webhook({ review: { ...review, version: 'v1' } }).authenticateToken('t', []);
    expect(asked[0]?.body).toMatchObject({ apiVersion: 'authentication.k8s.io/v1', spec: { token: 't' } });
    expect(asked[0]?.body.spec.audiences).toBeUndefined();
  });

  it('gets the credentials of the kubeconfig', async () => {
    answer = accepts('alice');
    await webhook({}, { authorization: async () => 'Bearer own' }).authenticateToken('t', []);
    expect(asked[0]?.headers.authorization).toBe('Bearer own');
  });

  it('that does not answer is given up after 30 seconds, and the log has no token', async () => {
    answer = () => undefined;
    const waiting = webhook().authenticateToken('very-secret', [audience]);
    while (asked.length === 0) await nextTurn();
    await clock.advance(30_000);
    expect(await waiting).toMatchObject({ type: 'refused' });
    expect(logged).toHaveLength(1);
    expect(JSON.stringify(logged)).not.toContain('very-secret');
  });

  it('is asked five times when it fails for a while, with growing pauses', async () => {
    const times: number[] = [];
    answer = (_asked, response) => {
      times.push(clock.monotonicNow());
      response.writeHead(500).end();
    };
    const waiting = webhook().authenticateToken('t', []);
    for (let call = 1; call <= 5; call++) {
      while (asked.length < call) await nextTurn();
      // Until its pause has begun, the clock must not move.
      for (let turn = 0; turn < 50; turn++) await nextTurn();
      await clock.advance([500, 750, 1_125, 1_687.5, 0][call - 1] ?? 0);
    }
    expect(await waiting).toMatchObject({ type: 'refused' });
    expect(times).toEqual([0, 500, 1_250, 2_375, 4_062.5]);
  });
});

describe('the cache of answers about tokens', () => {
  it('asks once for a thousand who wait for a slow webhook', async () => {
    const held: ServerResponse[] = [];
    answer = (_asked, response) => void held.push(response);
    const metrics = new TokenCacheMetrics();
    const cache = cached(webhook(), metrics);
    const waiting = Array.from({ length: 1_000 }, () => cache.authenticateToken('t', [audience]));
    while (held.length === 0) await nextTurn();
    expect(metrics.families().at(-1)?.samples).toEqual([
      { labels: { status: 'blocked' }, value: 1_000 },
      { labels: { status: 'in_flight' }, value: 1 },
    ]);
    held[0]?.end(JSON.stringify({ status: { authenticated: true, user: { username: 'alice' } } }));
    const results = await Promise.all(waiting);
    expect(new Set(results.map((result) => JSON.stringify(shown(result))))).toEqual(
      new Set(['{"name":"alice","groups":[]}']),
    );
    expect(asked).toHaveLength(1);
    expect(
      metrics
        .families()
        .at(-1)
        ?.samples.map(({ value }) => value),
    ).toEqual([0, 0]);
  });

  it('keeps what was accepted and what is unknown for two minutes, and no errors', async () => {
    const results: TokenResult[] = [
      { type: 'accepted', user: { name: 'alice', groups: [] }, audiences: [] },
      { type: 'unknown' },
      { type: 'refused', error: 'no' },
    ];
    for (const [index, result] of results.entries()) {
      let calls = 0;
      const cache = cached({
        authenticateToken: async () => {
          calls += 1;
          return result;
        },
      });
      const ask = async (): Promise<number> => {
        expect(await cache.authenticateToken('t', [audience])).toEqual(result);
        return calls;
      };
      expect([await ask(), await ask()]).toEqual(index === 2 ? [1, 2] : [1, 1]);
      await clock.advance(119_999);
      expect(await ask()).toBe(index === 2 ? 3 : 1);
      await clock.advance(1);
      expect(await ask()).toBe(index === 2 ? 4 : 2);
    }
  });

  it('knows answers by token and audiences', async () => {
    answer = accepts('alice');
    const cache = cached(webhook());
    await cache.authenticateToken('t', [audience]);
    await cache.authenticateToken('t', [audience]);
    await cache.authenticateToken('t', []);
    await cache.authenticateToken('u', []);
    cache.clear();
    await cache.authenticateToken('u', []);
    expect(asked).toHaveLength(4);
  });

  it('keeps a token no longer than it is valid', async () => {
    let calls = 0;
    const untilMs = clock.now() + 5_000;
    const cache = cached({
      authenticateToken: async () => {
        calls += 1;
        return { type: 'accepted', user: { name: 'a', groups: [] }, audiences: [], untilMs };
      },
    });
    await cache.authenticateToken('t', []);
    await clock.advance(4_999);
    await cache.authenticateToken('t', []);
    expect(calls).toBe(1);
    await clock.advance(1);
    await cache.authenticateToken('t', []);
    expect(calls).toBe(2);
  });

  it('has room for 32,768 answers, of which the least used go first', async () => {
    let calls = 0;
    const cache = cached({
      authenticateToken: async () => {
        calls += 1;
        return { type: 'unknown' };
      },
    });
    await cache.authenticateToken('first', []);
    await cache.authenticateToken('second', []);
    for (let index = 0; index < 32_766; index++) await cache.authenticateToken(`t${index}`, []);
    await cache.authenticateToken('first', []);
    expect(calls).toBe(32_768);
    await cache.authenticateToken('one more', []);
    await cache.authenticateToken('first', []);
    expect(calls).toBe(32_769);
    await cache.authenticateToken('second', []);
    expect(calls).toBe(32_770);
  });

  it('has room for 32 MiB of users', async () => {
    let calls = 0;
    const cache = cached({
      authenticateToken: async () => {
        calls += 1;
        return { type: 'accepted', user: { name: 'x'.repeat(12 * 1024 * 1024), groups: [] }, audiences: [] };
      },
    });
    for (const token of ['a', 'b', 'c']) await cache.authenticateToken(token, []);
    await cache.authenticateToken('c', []);
    expect(calls).toBe(3);
    await cache.authenticateToken('a', []);
    expect(calls).toBe(4);
  });

  it('neither keeps nor shares an answer that was asked for before they were cleared', async () => {
    const replies: ((result: TokenResult) => void)[] = [];
    const cache = cached({ authenticateToken: () => new Promise((resolve) => void replies.push(resolve)) });
    const old = cache.authenticateToken('t', []);
    cache.clear();
    const fresh = cache.authenticateToken('t', []);
    expect(replies.length).toBe(2);
    replies[0]?.({ type: 'accepted', user: { name: 'gone', groups: [] }, audiences: [] });
    expect(await old).toMatchObject({ user: { name: 'gone' } });
    const joined = cache.authenticateToken('t', []);
    expect(replies.length).toBe(2);
    replies[1]?.({ type: 'unknown' });
    expect([await fresh, await joined]).toEqual([{ type: 'unknown' }, { type: 'unknown' }]);
    expect(cache.authenticateToken('t', [])).toEqual({ type: 'unknown' });
  });

  it('passes on answers that are there at once without keeping anybody waiting', () => {
    const metrics = new TokenCacheMetrics();
    const cache = cached({ authenticateToken: () => ({ type: 'unknown' }) }, metrics);
    expect(cache.authenticateToken('t', [])).toEqual({ type: 'unknown' });
    expect(metrics.families()[0]?.samples).toEqual([{ labels: { status: 'miss' }, value: 1 }]);
  });
});
