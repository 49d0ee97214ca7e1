import { VirtualClock } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { describe, expect, it } from 'vitest';
import { tokenAuthenticator } from '../../authn/token-authenticator.ts';
import { alwaysAllow } from '../../authz/authorizer.ts';
import { startTestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { parseRequestInfo, type RequestInfo } from '../exchange/request-info.ts';
import { InflightLimit, type LeavePlace } from './inflight-limit.ts';

const info = (method: string, path: string): RequestInfo =>
  parseRequestInfo({ method, path, query: new URLSearchParams(path.split('?')[1]) });
const read = info('GET', '/api/v1/pods');
const never = new AbortController().signal;
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A limit of reads, and the results of requests. */
function limitOf(maxRequestsInflight: number, maxMutatingRequestsInflight = 1) {
  const clock = new VirtualClock();
  const limit = new InflightLimit({ maxRequestsInflight, maxMutatingRequestsInflight, maxWaitMs: 15_000, clock });
  const come = (name: string, request = read, signal = never) => limit.enter(request, { name, groups: [] }, signal);
  /** Fills places as one user and returns those that it got at once. */
  const fill = (name: string, count: number): LeavePlace[] =>
    Array.from({ length: count }, () => come(name)).filter((place) => typeof place === 'function');
  return { clock, limit, come, fill };
}

describe('requests in flight', () => {
  it('all come in while there is room, whoever they are of', () => {
    const { fill, limit, come } = limitOf(4);
    expect(fill('ann', 4)).toHaveLength(4);
    expect(come('ann')).toBeUndefined();
    expect(limit.counts()).toEqual({ reading: 4, mutating: 0 });
  });

  it('leave room once, however often they say so', () => {
    const { fill, limit } = limitOf(2);
    const [first] = fill('ann', 2);
    first?.();
    first?.();
    expect(limit.counts().reading).toBe(1);
    expect(fill('ann', 5)).toHaveLength(1);
  });

  it('of one user leave an eighth of the places to others; his next ones wait for his own', async () => {
    const { fill, come, limit } = limitOf(16);
    const places = fill('ann', 16);
    expect(places).toHaveLength(14);
    expect(limit.waiting().reading).toBe(2);
    expect(come('ann')).toBeUndefined();
    expect(fill('bob', 2)).toHaveLength(2);
    places[0]?.();
    await nextTurn();
    expect([limit.waiting().reading, limit.counts().reading]).toEqual([1, 16]);
  });

  it.each([
    ['a write', 'POST', '/api/v1/namespaces/a/pods', true],
    ['a watch', 'GET', '/api/v1/pods?watch=1', true],
    ['logs', 'GET', '/api/v1/namespaces/a/pods/b/log', true],
    ['a probe', 'GET', '/readyz', true],
    ['another path', 'GET', '/version', false],
    ['one check of a probe', 'GET', '/readyz/ping', false],
  ])('of reads hold up %s: not %s %s', (_, method, path, comesIn) => {
    const { fill, come } = limitOf(1);
    fill('ann', 1);
    const request = info(method, path);
    expect(typeof come('ann', request) === 'function').toBe(comesIn);
  });

  it('are not limited for system:masters, who take nobody else his place', () => {
    const { limit, fill } = limitOf(1);
    const root = { name: 'root', groups: ['system:masters'] };
    const places = Array.from({ length: 3 }, () => limit.enter(read, root, never) as LeavePlace);
    expect(fill('ann', 1)).toHaveLength(1);
    expect(limit.counts().reading).toBe(4);
    for (const leave of places) leave();
    expect(limit.counts().reading).toBe(1);
  });

  it('are not limited where the limit is 0', () => {
    expect(limitOf(0).fill('ann', 1000)).toHaveLength(1000);
  });
});

describe('a user who comes when all places are taken', () => {
  it('waits for the next one while he has less than his share, and is refused beyond it', async () => {
    const { fill, come, limit } = limitOf(4);
    const places = fill('ann', 4);
    const waits = [come('bob'), come('bob')];
    expect([come('bob'), come('ann')]).toEqual([undefined, undefined]);
    expect(limit.waiting().reading).toBe(2);
    places[0]?.();
    expect(await waits[0]).toBeTypeOf('function');
    // The place was passed on without having been free.
    expect([limit.counts().reading, come('ann')]).toEqual([4, undefined]);
    places[1]?.();
    expect(await waits[1]).toBeTypeOf('function');
    expect(limit.waiting().reading).toBe(0);
  });

  it('may have one at least, however many there are', async () => {
    const { fill, come } = limitOf(2);
    const [place] = fill('ann', 2);
    const waits = [come('bob'), come('cem')];
    expect(come('dan')).toBeUndefined();
    place?.();
    expect(await waits[0]).toBeTypeOf('function');
  });

  it('comes before those who have more, and after those who have waited longer', async () => {
    const { fill, come } = limitOf(6);
    const places = [...fill('ann', 4), ...fill('bob', 2)];
    const order: string[] = [];
    for (const name of ['bob', 'cem', 'cem', 'dan']) {
      void Promise.resolve(come(name)).then((leave) => order.push(leave === undefined ? 'nobody' : name));
    }
    for (let i = 0; i < 4; i++) {
      places[i]?.();
      await nextTurn();
    }
    expect(order).toEqual(['cem', 'dan', 'cem', 'bob']);
  });

  it('is refused after the longest wait', async () => {
    const { fill, come, clock, limit } = limitOf(2);
    fill('ann', 2);
    const wait = come('bob');
    await clock.advance(14_999);
    expect(limit.waiting().reading).toBe(1);
    await clock.advance(1);
    expect(await wait).toBeUndefined();
    expect(limit.waiting().reading).toBe(0);
  });

  it('waits no longer when he goes away, and takes no place then', async () => {
    const { fill, come, limit } = limitOf(2);
    const [place] = fill('ann', 2);
    const gone = new AbortController();
    const wait = come('bob', read, gone.signal);
    gone.abort();
    expect(await wait).toBeUndefined();
    expect(limit.waiting().reading).toBe(0);
    place?.();
    expect(limit.counts().reading).toBe(1);
    expect(come('bob', read, gone.signal)).toBeTypeOf('function');
    expect(come('cem', read, gone.signal)).toBeUndefined();
  });

  it('gets the share of those who are here, not of those who have left', () => {
    const { fill, come } = limitOf(4);
    for (const leave of [...fill('bob', 2), ...fill('cem', 2)]) leave();
    fill('ann', 4);
    expect([come('bob'), come('bob')]).toEqual([expect.any(Promise), expect.any(Promise)]);
    expect(come('bob')).toBeUndefined();
  });
});

describe('a flood of one user', () => {
  it('shuts no other out: over real connections each request of the other is served', async () => {
    const users = new Map([
      ['ann', { name: 'ann', groups: [] }],
      ['bob', { name: 'bob', groups: [] }],
    ]);
    const counts = { waiting: 0, most: 0, refused: 0 };
    const server = await startTestServer(openLmdbEngine, {
      definitions: factDefinitions().filter(({ resource }) => resource === 'configmaps'),
      authentication: { authenticators: [tokenAuthenticator(users)] },
      authorizer: {
        // Holds each place for some turns, so that there are more requests than places.
        authorize: async (attributes) => {
          counts.most = Math.max(counts.most, ++counts.waiting);
          for (let i = 0; i < 20; i++) await nextTurn();
          counts.waiting--;
          return alwaysAllow.authorize(attributes);
        },
      },
      maxRequestsInflight: 4,
    });
    const ask = async (token: string): Promise<number> =>
      (await server.send('GET', '/api/v1/configmaps', { headers: { authorization: `Bearer ${token}` } })).status;
    let isOver = false;
    const flood = async (): Promise<void> => {
      while (!isOver) if ((await ask('ann')) === 429) counts.refused++;
    };
    const floods = Array.from({ length: 16 }, flood);
    const statuses: number[] = [];
    while (counts.refused === 0) await nextTurn();
    for (let i = 0; i < 20; i++) statuses.push(await ask('bob'));
    isOver = true;
    await Promise.all(floods);
    await server.close();
    expect(statuses).toEqual(Array(20).fill(200));
    expect(counts.most).toBe(4);
  }, 60_000);
});
