import { formatMetrics } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import type { ClassifiedRequest } from './active-schema.ts';
import { FlowControl } from './flow-control.ts';
import { dumpLevels, dumpQueues, dumpRequests } from './flow-control-dump.ts';
import { flowControlMetrics } from './flow-control-metrics.ts';
import type { FlowConfiguration, FlowSchema, FlowTarget, PriorityLevelConfig } from './flow-schema.ts';

const all = ['*'];
const queuing = { queues: 8, handSize: 2, queueLengthLimit: 4 };
const level = (name: string, change: Partial<PriorityLevelConfig> = {}): PriorityLevelConfig => ({
  name,
  uid: `uid-${name}`,
  shares: 10,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queuing,
  ...change,
});
const schema = (name: string, change: Partial<FlowSchema> & { readonly user?: string } = {}): FlowSchema => ({
  name,
  uid: `uid-${name}`,
  precedence: 100,
  levelName: name,
  distinguisher: 'user',
  rules: [
    {
      subjects: [{ type: 'user', name: change.user ?? name }],
      resourceRules: [{ verbs: all, groups: all, resources: all, namespaces: all, clusterScope: true }],
      pathRules: [{ verbs: all, paths: all }],
    },
  ],
  ...change,
});
const rest = schema('rest', { user: '*', precedence: 10_000 });
const configuration = (schemas: readonly FlowSchema[], levels: readonly PriorityLevelConfig[]): FlowConfiguration => ({
  schemas: [...schemas, rest],
  levels: [...levels, level('rest', { queuing: 'none' })],
  fallback: 'rest',
});

const read: FlowTarget = {
  type: 'resource',
  verb: 'get',
  path: '/apis/g/v1/namespaces/n/widgets/a',
  group: 'g',
  version: 'v1',
  namespace: 'n',
  resource: 'widgets',
  subresource: '',
  name: 'a',
};

function controlOf(given: FlowConfiguration, seats = 20) {
  const clock = new VirtualClock();
  const control = new FlowControl({
    seats,
    configuration: given,
    statsOf: () => undefined,
    watchIndexes: new Map(),
    withoutEvents: new Set(),
    clock,
    lingerClock: clock,
  });
  const come = (name: string, target: FlowTarget = read): ClassifiedRequest =>
    control.admit({ user: { name, groups: [] }, target, query: new URLSearchParams() }, clock.monotonicNow());
  const fill = (name: string, count: number): ClassifiedRequest[] => Array.from({ length: count }, () => come(name));
  return { clock, control, come, fill };
}
const phases = (requests: readonly ClassifiedRequest[]): string => requests.map(({ phase }) => phase[0]).join('');
const current = ({ levels }: FlowControl): Record<string, number> =>
  Object.fromEntries([...levels].map(([name, each]) => [name, each.current.current]));

describe('requests under flow control', () => {
  it('go to the level of the first schema that matches, and to the fallback else', () => {
    const early = schema('early', { user: 'ann', precedence: 5, levelName: 'ann' });
    const { come } = controlOf(
      configuration([schema('ann'), early, schema('lost', { precedence: 1, user: 'ann' })], [level('ann')]),
    );
    const names = ['ann', 'bob'].map((name) => come(name).active.schema.name);
    expect(names).toEqual(['early', 'rest']);
  });

  it('that no schema matches go to the fallback even if its rules do not match either', () => {
    const narrow = { ...rest, rules: [] };
    const { come } = controlOf({ schemas: [narrow], levels: [level('rest')], fallback: 'rest' });
    expect(come('ann').active.schema.name).toBe('rest');
  });

  it('of equal precedence are asked by name', () => {
    const two = ['b', 'a'].map((name) => schema(name, { user: 'ann', levelName: 'ann' }));
    expect(controlOf(configuration(two, [level('ann')])).come('ann').active.schema.name).toBe('a');
  });

  it('share the seats of the server by the shares of their levels', () => {
    const { control } = controlOf(configuration([schema('ann')], [level('ann', { shares: 30 })]), 20);
    expect(current(control)).toEqual({ ann: 15, rest: 5 });
  });

  it('run, wait and are refused, and each is counted once', async () => {
    const { clock, control, come, fill } = controlOf(configuration([schema('ann')], [level('ann')]), 4);
    const requests = fill('ann', 2);
    const waiting = come('ann');
    expect(phases([...requests, waiting])).toBe('eew');
    expect([control.inFlight.executing.readOnly.count, control.inFlight.waiting.readOnly.count]).toEqual([2, 1]);
    await clock.advance(30);
    let started = 0;
    waiting.onAdmitted = () => started++;
    control.finish(requests[0] as ClassifiedRequest);
    expect([waiting.phase, started]).toEqual(['executing', 1]);
    control.finish(requests[0] as ClassifiedRequest);
    control.finish(waiting);
    control.finish(requests[1] as ClassifiedRequest);
    expect([control.inFlight.executing.readOnly.count, control.inFlight.waiting.readOnly.count]).toEqual([0, 0]);
  });

  it('that give up while they wait leave no trace', () => {
    const { control, come, fill } = controlOf(configuration([schema('ann')], [level('ann')]), 2);
    fill('ann', 1);
    const waiting = come('ann');
    control.cancel(waiting);
    control.cancel(waiting);
    expect([waiting.phase, control.inFlight.waiting.readOnly.count]).toEqual(['refused', 0]);
    expect(control.levels.get('ann')?.queues.waiting).toBe(0);
  });

  it('distinguish flows by user or by namespace', () => {
    const byNamespace = schema('n', { user: 'ann', distinguisher: 'namespace', levelName: 'ann' });
    const { come } = controlOf(configuration([byNamespace, schema('bob')], [level('ann'), level('bob')]));
    expect(come('ann').distinguisher).toBe('n');
    expect(come('ann', { type: 'path', verb: 'get', path: '/x' }).distinguisher).toBe('');
    expect(come('bob').distinguisher).toBe('bob');
  });

  it('that write hold the seats of the delivery for a while, and closing stops the timers', async () => {
    const { clock, control, come } = controlOf(configuration([schema('ann')], [level('ann')]), 40);
    for (let i = 0; i < 30; i++)
      control.watches.register({ ...read, type: 'resource', verb: 'watch', name: '' }, () => undefined);
    const write = come('ann', { ...read, verb: 'update' });
    control.finish(write);
    expect([write.phase, control.levels.get('ann')?.queues.seatsInUse]).toEqual(['lingering', 3]);
    await clock.advance(5);
    expect([write.phase, control.levels.get('ann')?.queues.seatsInUse]).toEqual(['ended', 0]);
    control.finish(come('ann', { ...read, verb: 'update' }));
    control.close();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a change of the configuration', () => {
  it('acts at once and keeps who waits', () => {
    const { control, come, fill } = controlOf(configuration([schema('ann')], [level('ann')]), 2);
    const requests = fill('ann', 3);
    expect(phases(requests)).toBe('eww');
    control.configure(configuration([schema('ann')], [level('ann', { shares: 20 })]));
    expect(current(control)).toEqual({ ann: 2, rest: 1 });
    expect(phases(requests)).toBe('eew');
    control.configure(configuration([schema('ann', { user: 'bob' })], [level('ann', { shares: 20 })]));
    expect([come('ann').active.schema.name, come('bob').active.schema.name]).toEqual(['rest', 'ann']);
  });

  it('that takes a level away lets those run who wait there, and then forgets it', () => {
    const { control, fill, come } = controlOf(configuration([schema('ann')], [level('ann')]), 2);
    const requests = fill('ann', 3);
    control.configure(configuration([schema('ann')], []));
    expect([come('ann').active.schema.name, control.levels.get('ann')?.isQuiescing]).toEqual(['rest', true]);
    // The level still has its shares.
    expect(current(control)).toEqual({ ann: 1, rest: 1 });
    for (const request of requests) {
      expect(request.phase).toBe('executing');
      control.finish(request);
    }
    expect([...control.levels.keys()]).toEqual(['rest']);
    expect(current(control)).toEqual({ rest: 2 });
    expect([...control.counts].map(({ schemaName }) => schemaName)).toEqual(['rest']);
  });

  it('that brings a level back while it drains goes on with it', () => {
    const { control, fill } = controlOf(configuration([schema('ann')], [level('ann')]), 2);
    const requests = fill('ann', 2);
    control.configure(configuration([], []));
    control.configure(configuration([schema('ann')], [level('ann')]));
    expect(control.levels.get('ann')?.isQuiescing).toBe(false);
    control.finish(requests[0] as ClassifiedRequest);
    control.finish(requests[1] as ClassifiedRequest);
    expect(control.levels.has('ann')).toBe(true);
  });

  it('ignores a level whose queues cannot be dealt', () => {
    const broken = level('ann', { queuing: { queues: 64, handSize: 11, queueLengthLimit: 1 } });
    expect([...controlOf(configuration([schema('ann')], [broken])).control.levels.keys()]).toEqual(['rest']);
  });

  it('forgets the counts of a schema that is gone', () => {
    const { control, come } = controlOf(configuration([schema('ann')], [level('ann')]));
    control.finish(come('ann'));
    for (let i = 0; i < 100; i++)
      control.configure(configuration([schema(`s${i}`, { levelName: 'ann' })], [level('ann')]));
    expect([...control.counts]).toHaveLength(2);
  });

  it('takes a large one in turns, and the last one wins', async () => {
    const { control, come } = controlOf(configuration([schema('ann')], [level('ann')]));
    const many = Array.from({ length: 30_000 }, (_, i) => schema(`s${i}`, { levelName: 'ann', precedence: 50 }));
    control.configure(configuration(many, [level('ann')]));
    control.configure(configuration([schema('last', { user: 'ann', levelName: 'ann' })], [level('ann')]));
    for (let turn = 0; turn < 2000 && come('ann').active.schema.name !== 'last'; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(come('ann').active.schema.name).toBe('last');
  });
});

describe('levels that lend', () => {
  const lending = configuration(
    [schema('ann'), schema('bob')],
    [
      level('ann', { lendablePercent: 100, borrowingLimitPercent: undefined }),
      level('bob', { lendablePercent: 100, borrowingLimitPercent: undefined }),
    ],
  );

  it('give idle seats to who waits, every ten seconds, and get them back', async () => {
    const { clock, control, fill } = controlOf(lending, 30);
    control.start();
    const flood = fill('ann', 15);
    expect(phases(flood)).toBe('eeeeeeeeeewwwww');
    await clock.advance(10_000);
    // Ann could use 15 seats: her own, and some of Bob's.
    expect(phases(flood)).toBe('eeeeeeeeeeeeeee');
    expect(control.levels.get('ann')?.current.current).toBeGreaterThanOrEqual(15);
    const quiet = fill('bob', 5);
    await clock.advance(20_000);
    expect(control.levels.get('bob')?.current.current).toBeGreaterThanOrEqual(5);
    expect(phases(quiet)).toBe('eeeee');
    control.close();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('what is shown of flow control', () => {
  const given = configuration(
    [schema('ann'), schema('root', { levelName: 'free' })],
    [level('ann'), level('free', { queuing: 'unlimited', shares: 0 })],
  );

  it('has a line for each level, queue and request', async () => {
    const { control, fill, come } = controlOf(given, 2);
    fill('ann', 2);
    come('root', { type: 'path', verb: 'get', path: '/version' });
    expect(dumpLevels(control).split('\n').slice(0, 4)).toEqual([
      'PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests',
      'ann,               1,            false,  false,       1,               1,                 1,                  0,                0,                0',
      'free,              0,            false,  false,       0,               1,                 1,                  0,                0,                0',
      'rest,              0,            true,   false,       0,               0,                 0,                  0,                0,                0',
    ]);
    const queues = dumpQueues(control).trimEnd().split('\n');
    expect(queues).toHaveLength(1 + 8);
    expect(queues[0]).toMatch(/^PriorityLevelName, Index, +PendingRequests, /);
    expect(queues.filter((line) => line.includes(' 0.00300000ss'))).toHaveLength(2);
    const requests = dumpRequests(control, { withDetails: true, epochMs: 0 }).trimEnd().split('\n');
    expect(requests.map((line) => line.split(/, +/).slice(0, 5).join())).toEqual([
      'PriorityLevelName,FlowSchemaName,QueueIndex,RequestIndexInQueue,FlowDistingsher',
      expect.stringMatching(/^ann,ann,\d,(0|-1),ann$/),
      expect.stringMatching(/^ann,ann,\d,(0|-1),ann$/),
      'free,root,-1,-1,',
    ]);
    expect(requests.join()).toMatch(/ann, +get, +\/apis\/g\/v1\/namespaces\/n\/widgets\/a, n, +a, +g\/v1, +widgets, /);
  });

  it('has Kubernetes names in its metrics', async () => {
    const { clock, control, fill, come } = controlOf(given, 2);
    const [first] = fill('ann', 6);
    await clock.advance(100);
    control.finish(first as ClassifiedRequest);
    come('nobody');
    come('nobody');
    const text = formatMetrics(flowControlMetrics(control, clock.monotonicNow()));
    const labels = 'priority_level="ann",flow_schema="ann"';
    for (const line of [
      `rejected_requests_total{priority_level="rest",flow_schema="rest",reason="concurrency-limit"} 1`,
      `dispatched_requests_total{${labels}} 2`,
      `current_inqueue_requests{${labels}} 4`,
      `current_executing_requests{${labels}} 1`,
      `current_executing_seats{${labels}} 1`,
      `request_wait_duration_seconds_count{${labels},execute="true"} 2`,
      `request_execution_seconds_sum{${labels},type="regular"} 0.1`,
      `work_estimated_seats_count{${labels}} 6`,
      `nominal_limit_seats{priority_level="ann"} 1`,
      `current_limit_seats{priority_level="ann"} 1`,
      `demand_seats_high_watermark{priority_level="ann"} 0`,
      `priority_level_seat_utilization_count{phase="executing",priority_level="ann"} 100000000`,
      `priority_level_request_utilization_sum{phase="waiting",priority_level="ann"} 15625000`,
      `read_vs_write_current_requests_bucket{phase="executing",request_kind="mutating",le="0"} 100000000`,
      `next_s_bounds{bound="min",priority_level="ann"} `,
      `seat_fair_frac `,
    ])
      expect(text).toContain(`apiserver_flowcontrol_${line}`);
  });
});
