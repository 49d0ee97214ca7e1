// Requests under flow control over real connections: waits, refusals, clients that go, and a server that stops.
import { VirtualClock } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it } from 'vitest';
import { tokenAuthenticator } from '../../authn/token-authenticator.ts';
import { alwaysAllow } from '../../authz/authorizer.ts';
import { FlowControl } from '../../flowcontrol/flow-control.ts';
import type { FlowConfiguration, FlowSchema, PriorityLevelConfig } from '../../flowcontrol/flow-schema.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import type { Exchange } from '../exchange/exchange.ts';

const all = ['*'];
const users = new Map(
  ['ann', 'bob', 'root'].map((name) => [name, { name, groups: name === 'root' ? ['system:masters'] : [] }]),
);
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const path = '/api/v1/namespaces/n/configmaps';

const level = (name: string, queuing: PriorityLevelConfig['queuing'], shares = 10): PriorityLevelConfig => ({
  name,
  uid: `uid-of-level-${name}`,
  shares,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queuing,
});
const schema = (
  name: string,
  levelName: string,
  subject: FlowSchema['rules'][number]['subjects'][number],
): FlowSchema => ({
  name,
  uid: `uid-of-${name}`,
  precedence: 100,
  levelName,
  distinguisher: 'user',
  rules: [
    {
      subjects: [subject],
      resourceRules: [{ verbs: all, groups: all, resources: all, namespaces: all, clusterScope: true }],
      pathRules: [{ verbs: all, paths: all }],
    },
  ],
});
/** Ann and Bob share two seats, and may have to wait for them; root has as many as it likes. */
const configuration = (queuing: PriorityLevelConfig['queuing']): FlowConfiguration => ({
  schemas: [
    schema('free', 'free', { type: 'group', name: 'system:masters' }),
    schema('rest', 'rest', { type: 'user', name: '*' }),
  ],
  levels: [level('free', 'unlimited', 0), level('rest', queuing)],
  fallback: 'rest',
});

/** A server on which the requests of Ann and Bob are held until they are let go. */
class HeldServer {
  readonly clock = new VirtualClock();
  readonly control: FlowControl;
  server!: TestServer;
  readonly #held: (() => void)[] = [];
  #isOpen = false;

  constructor(queuing: PriorityLevelConfig['queuing'] = { queues: 4, handSize: 1, queueLengthLimit: 3 }) {
    this.control = new FlowControl({
      seats: 2,
      configuration: configuration(queuing),
      statsOf: () => undefined,
      watchIndexes: new Map(),
      withoutEvents: new Set(),
      clock: this.clock,
    });
  }

  async start(): Promise<this> {
    this.server = await startTestServer(openLmdbEngine, {
      definitions: factDefinitions().filter(({ resource }) => resource === 'configmaps'),
      authentication: { authenticators: [tokenAuthenticator(users)] },
      authorizer: {
        authorize: async (attributes) => {
          if (attributes.user.name !== 'root' && !this.#isOpen) await new Promise<void>((go) => this.#held.push(go));
          return alwaysAllow.authorize(attributes);
        },
      },
      flowControl: this.control,
      clock: this.clock,
    });
    return this;
  }

  get held(): number {
    return this.#held.length;
  }

  get level() {
    const found = this.control.levels.get('rest');
    if (found === undefined) throw new Error('the level is gone');
    return found.queues;
  }

  /** Sends a read and returns its status, when it is answered. */
  read(token: string) {
    return this.server.send('GET', path, as(token));
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await nextTurn();
  }

  /** Releases the request that has been held longest. */
  release(): void {
    this.#held.shift()?.();
  }

  open(): void {
    this.#isOpen = true;
    for (const go of this.#held.splice(0)) go();
  }
}

let held: HeldServer | undefined;
async function startHeld(queuing?: PriorityLevelConfig['queuing']): Promise<HeldServer> {
  held = await new HeldServer(queuing).start();
  return held;
}
afterEach(async () => {
  held?.open();
  await held?.server.close();
  held?.control.close();
  held = undefined;
});

describe('requests under priority and fairness', () => {
  it('name their flow schema and level in each answer that was classified, errors too', async () => {
    const { server } = await startHeld();
    const answers = await Promise.all([
      server.send('GET', path, as('root')),
      server.send('GET', '/nothing', as('root')),
    ]);
    for (const { headers } of answers) {
      expect(headers['x-kubernetes-pf-flowschema-uid']).toBe('uid-of-free');
      expect(headers['x-kubernetes-pf-prioritylevel-uid']).toBe('uid-of-level-free');
    }
    const stranger = await server.send('GET', path, as('nobody-knows'));
    expect([stranger.status, stranger.headers['x-kubernetes-pf-flowschema-uid']]).toEqual([401, undefined]);
  });

  it('run up to the seats of their level, wait in its queues, and are refused beyond', async () => {
    const scene = await startHeld();
    const first = [scene.read('ann'), scene.read('ann')];
    await scene.until(() => scene.held === 2);
    const waiting = [1, 2, 3].map(() => scene.read('ann'));
    await scene.until(() => scene.level.waiting === 3);
    const refused = await scene.read('ann');
    expect([refused.status, refused.headers['retry-after'], refused.text]).toEqual([
      429,
      '1',
      'Too many requests, please try again later.\n',
    ]);
    expect(refused.headers['x-kubernetes-pf-flowschema-uid']).toBe('uid-of-rest');
    expect((await scene.read('root')).status).toBe(200);
    scene.open();
    const statuses = (await Promise.all([...first, ...waiting])).map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
    await scene.until(() => scene.level.isIdle);
    expect(scene.level.seatsInUse).toBe(0);
  });

  it('of a flood leave a quiet user the next free seat', async () => {
    const scene = await startHeld({ queues: 64, handSize: 1, queueLengthLimit: 100 });
    const flood = Array.from({ length: 40 }, () => scene.read('ann'));
    await scene.until(() => scene.level.waiting === 38);
    let hasAnswer = false;
    const quiet = scene.read('bob').then(({ status }) => {
      hasAnswer = true;
      return status;
    });
    await scene.until(() => scene.level.waiting === 39);
    let released = 0;
    while (!hasAnswer) {
      if (scene.held > 0) {
        scene.release();
        released++;
      }
      await nextTurn();
    }
    expect([await quiet, released < 12]).toEqual([200, true]);
    scene.open();
    await Promise.all(flood);
  });

  it('are refused after a quarter of their time', async () => {
    const scene = await startHeld();
    const running = [scene.read('ann'), scene.read('ann')];
    await scene.until(() => scene.held === 2);
    const late = scene.server.send('GET', `${path}?timeout=20s`, as('ann'));
    await scene.until(() => scene.level.waiting === 1);
    await scene.clock.advance(4_999);
    expect(scene.level.waiting).toBe(1);
    await scene.clock.advance(1);
    expect((await late).status).toBe(429);
    expect([scene.level.waiting, scene.level.totals.cancelled]).toEqual([0, 1]);
    scene.open();
    await Promise.all(running);
  });

  it('whose client goes away while they wait take no seat', async () => {
    const scene = await startHeld();
    const running = [scene.read('ann'), scene.read('ann')];
    await scene.until(() => scene.held === 2);
    const gone = new AbortController();
    const leaving = fetch(`${scene.server.url}${path}`, { ...as('ann'), signal: gone.signal }).catch(() => 'gone');
    await scene.until(() => scene.level.waiting === 1);
    gone.abort();
    expect(await leaving).toBe('gone');
    await scene.until(() => scene.level.waiting === 0);
    scene.open();
    await Promise.all(running);
    await scene.until(() => scene.level.isIdle);
    expect([scene.level.seatsInUse, scene.control.inFlight.waiting.readOnly.count]).toEqual([0, 0]);
  });

  it('that wait at a level which is taken away are served there', async () => {
    const scene = await startHeld();
    const reads = [scene.read('ann'), scene.read('ann'), scene.read('ann')];
    await scene.until(() => scene.level.waiting === 1);
    const given = configuration('none');
    const [free, rest] = given.schemas;
    scene.control.configure({
      schemas: [free as FlowSchema, { ...(rest as FlowSchema), levelName: 'other' }],
      levels: [level('free', 'unlimited', 0), level('other', 'none')],
      fallback: 'rest',
    });
    expect(scene.control.levels.get('rest')?.isQuiescing).toBe(true);
    scene.open();
    expect((await Promise.all(reads)).map(({ status }) => status)).toEqual([200, 200, 200]);
    await scene.until(() => !scene.control.levels.has('rest'));
  });

  it('that wait when the server stops are served before it has stopped', async () => {
    const scene = await startHeld();
    const reads = [scene.read('ann'), scene.read('ann'), scene.read('ann')];
    await scene.until(() => scene.level.waiting === 1);
    const stopped = scene.server.close();
    scene.open();
    expect((await Promise.all(reads)).map(({ status }) => status)).toEqual([200, 200, 200]);
    await stopped;
    held = undefined;
    scene.control.close();
    expect(scene.level.isIdle).toBe(true);
  });

  it('that watch keep a seat until they have begun, and are counted for writes as long as they last', async () => {
    const scene = await startHeld();
    const watch = scene.server.stream(`${path}?watch=true&resourceVersion=1`, as('ann').headers);
    await scene.until(() => scene.held === 1);
    expect(scene.level.seatsInUse).toBe(1);
    scene.release();
    const stream = await watch;
    await scene.until(() => scene.level.seatsInUse === 0);
    const write = { type: 'resource', verb: 'update', path: '', group: '', version: 'v1', namespace: 'n' } as const;
    const asked = { ...write, resource: 'configmaps', subresource: '', name: 'a' };
    expect(scene.control.watches.interestedIn(asked)).toBe(1);
    stream.close();
    await scene.until(() => scene.control.watches.interestedIn(asked) === 0);
  });

  it('are shown on the debug pages, which the index leaves out', async () => {
    const scene = await startHeld();
    const running = scene.read('ann');
    await scene.until(() => scene.held === 1);
    const root = '/debug/api_priority_and_fairness';
    const [levels, queues, requests, index] = await Promise.all(
      [`${root}/dump_priority_levels`, `${root}/dump_queues`, `${root}/dump_requests?includeRequestDetails=1`, '/'].map(
        (page) => scene.server.send('GET', page, as('root')),
      ),
    );
    expect(levels?.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(levels?.headers['x-kubernetes-pf-flowschema-uid']).toBe('uid-of-free');
    expect(levels?.text).toMatch(/^rest, +0, +false, +false, +0, +1, /m);
    expect(queues?.text.split('\n')).toHaveLength(1 + 4 + 1);
    expect(requests?.text).toMatch(
      /^rest, +rest, +\d, +-1, +ann, .*ann, +list, +\/api\/v1\/namespaces\/n\/configmaps, +n, /m,
    );
    expect(index?.text).not.toContain('api_priority_and_fairness');
    scene.open();
    await running;
  });
});

/** Sends these users' requests, which arrive in one turn and take 10 ms of the processor each. Returns who was served and all statuses. */
async function serveTogether(
  names: readonly string[],
  given: FlowConfiguration,
  { seats = 2, onServe }: { seats?: number; onServe?: (served: string[], exchanges: Exchange[]) => void } = {},
) {
  const clock = new VirtualClock();
  const realNow = clock.monotonicNow.bind(clock);
  const served: string[] = [];
  // Each request takes 10 ms of the processor, and waits for nothing.
  clock.monotonicNow = () => realNow() + 10 * served.length;
  const control = new FlowControl({
    seats,
    configuration: given,
    statsOf: () => undefined,
    watchIndexes: new Map(),
    withoutEvents: new Set(),
    clock,
  });
  const arrived: (() => void)[] = [];
  const exchanges: Exchange[] = [];
  const server = await startTestServer(openLmdbEngine, {
    definitions: [],
    authentication: { authenticators: [tokenAuthenticator(users)] },
    authorizer: {
      authorize: (attributes) => {
        served.push(attributes.user.name);
        onServe?.(served, exchanges);
        return alwaysAllow.authorize(attributes);
      },
    },
    onRequest: (exchange) => {
      exchanges.push(exchange as Exchange);
      return new Promise((resolve) => arrived.push(resolve));
    },
    flowControl: control,
    clock,
  });
  const sent: Promise<number | undefined>[] = [];
  for (const name of names) {
    const answer = server.send('GET', '/version', as(name));
    sent.push(
      answer.then(
        ({ status }) => status,
        () => undefined,
      ),
    );
    while (arrived.length < sent.length) await nextTurn();
  }
  // Callbacks of one turn, each of which ends before the next begins, as those of sockets do.
  for (const go of arrived) setImmediate(go);
  const statuses = await Promise.all(sent);
  for (const { queues } of control.levels.values()) while (queues.seatsInUse > 0) await nextTurn();
  await server.close();
  control.close();
  return { served, statuses };
}

describe('requests that arrive together', () => {
  const anns = (count: number): string[] => Array.from({ length: count }, () => 'ann');
  const queues = { queues: 64, handSize: 2, queueLengthLimit: 20 };

  it('wait in queues, so that those of another user do not come last', async () => {
    const { served } = await serveTogether([...anns(12), 'bob'], configuration(queues));
    expect(served).toHaveLength(13);
    expect(served.indexOf('bob')).toBeLessThan(5);
  });

  it('hold no seats for others where there are no queues', async () => {
    const { statuses } = await serveTogether(anns(12), configuration('none'));
    expect(statuses).toEqual(statuses.map(() => 200));
  });

  it('do not wait behind those that have seats of another level', async () => {
    const given = configuration(queues);
    const two = {
      ...given,
      schemas: [{ ...schema('quick', 'quick', { type: 'user', name: 'bob' }), precedence: 50 }, ...given.schemas],
      levels: [...given.levels, level('quick', queues)],
    };
    const { served } = await serveTogether([...anns(20), 'bob'], two, { seats: 100 });
    expect(served).toHaveLength(21);
    expect(served.indexOf('bob')).toBeLessThan(4);
  });

  it('end when their client goes while they have a seat and wait for their turn', async () => {
    const onServe = (before: string[], exchanges: Exchange[]): void => {
      if (before.length === 2) exchanges[2]?.abort();
    };
    const { served, statuses } = await serveTogether(['ann', 'ann', 'bob'], configuration(queues), {
      seats: 3,
      onServe,
    });
    expect([served, statuses]).toEqual([
      ['ann', 'ann'],
      [200, 200, undefined],
    ]);
  });
});
