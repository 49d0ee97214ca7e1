import diagnostics_channel from 'node:diagnostics_channel';
import { VirtualClock } from '@kapstan/api/testing';
import { type OpenMetricsContentType, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { TerminalError } from '../reconcile/reconcile-loop.ts';
import { RateLimitingQueue } from '../workqueue/index.ts';
import { ControllerMetrics } from './controller-metrics.ts';

const request = { key: 'a', namespace: '', name: 'a' };
/** Returns the lines of the page that begin with the text. */
const lines = async (metrics: ControllerMetrics, start: string) =>
  (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(start));

describe('ControllerMetrics', () => {
  it('tells of a queue what client-go tells', async () => {
    const clock = new VirtualClock();
    const metrics = new ControllerMetrics({ clock });
    const queue = new RateLimitingQueue<string>({ clock, observer: metrics.queueObserver('foos') });
    const of = '{name="foos",controller="foos"}';
    queue.add('a');
    queue.add('b');
    queue.add('b');
    await clock.advance(4000);
    await queue.get();
    await clock.advance(2000);
    queue.addRateLimited('c');
    expect(await lines(metrics, 'workqueue_adds_total')).toEqual([`workqueue_adds_total${of} 2`]);
    expect(await lines(metrics, 'workqueue_depth')).toEqual([
      'workqueue_depth{name="foos",controller="foos",priority=""} 1',
    ]);
    expect(await lines(metrics, 'workqueue_retries_total')).toEqual([`workqueue_retries_total${of} 1`]);
    expect(await lines(metrics, 'workqueue_unfinished_work_seconds')).toEqual([
      `workqueue_unfinished_work_seconds${of} 2`,
    ]);
    await queue.get();
    await clock.advance(1000);
    expect(await lines(metrics, 'workqueue_unfinished_work_seconds')).toEqual([
      `workqueue_unfinished_work_seconds${of} 4`,
    ]);
    expect(await lines(metrics, 'workqueue_longest_running_processor_seconds')).toEqual([
      `workqueue_longest_running_processor_seconds${of} 3`,
    ]);
    queue.done('a');
    expect(await lines(metrics, 'workqueue_queue_duration_seconds_sum')).toEqual([
      `workqueue_queue_duration_seconds_sum${of} 10`,
    ]);
    expect(await lines(metrics, 'workqueue_work_duration_seconds_sum')).toEqual([
      `workqueue_work_duration_seconds_sum${of} 3`,
    ]);
    expect(await lines(metrics, 'workqueue_work_duration_seconds_count')).toEqual([
      `workqueue_work_duration_seconds_count${of} 1`,
    ]);
    expect(await lines(metrics, 'workqueue_longest_running')).toEqual([
      `workqueue_longest_running_processor_seconds${of} 1`,
    ]);
  });

  it('tells by priority what waits, where there are priorities', async () => {
    const clock = new VirtualClock();
    const metrics = new ControllerMetrics({ clock });
    const queue = new RateLimitingQueue<string>({ clock, priority: {}, observer: metrics.queueObserver('foos') });
    const depth = async (): Promise<Record<string, number>> => {
      const found = (await lines(metrics, 'workqueue_depth')).map((line) => /priority="(.*?)"} (.*)$/.exec(line));
      return Object.fromEntries(found.map((parts) => [parts?.[1] ?? '', Number(parts?.[2])]));
    };
    for (const key of ['a', 'b', 'c']) queue.add(key, -100);
    queue.add('d');
    expect(await depth()).toEqual({ '-100': 3, '0': 1 });
    queue.add('b');
    queue.add('d', -100);
    expect(await depth(), 'b has become more urgent, d not less').toEqual({ '-100': 2, '0': 2 });
    expect(await queue.get()).toBe('d');
    queue.add('d', -100);
    expect(await depth(), 'd will be again').toEqual({ '-100': 3, '0': 1 });
    queue.add('d', 7);
    queue.done('d');
    expect(await depth()).toEqual({ '-100': 2, '0': 1, '7': 1 });
    for (let left = 4; left > 0; left--) queue.done((await queue.get()) ?? '');
    expect(await depth()).toEqual({ '-100': 0, '0': 0, '7': 0 });
  });

  it('counts reconciles by what became of them, terminal failures among the failures', async () => {
    const metrics = new ControllerMetrics();
    metrics.controllerAdded('foo', 3);
    metrics.reconcileEnded('foo', { type: 'succeeded', request });
    metrics.reconcileEnded('foo', { type: 'succeeded', request, requeueAfterMs: 5 });
    metrics.reconcileEnded('foo', { type: 'succeeded', request, requeueAfterMs: 0 });
    metrics.reconcileEnded('foo', { type: 'failed', request, error: new Error('e'), willRetry: true });
    metrics.reconcileEnded('foo', { type: 'failed', request, error: new TerminalError('t'), willRetry: false });
    expect((await lines(metrics, 'controller_runtime_reconcile_total')).sort()).toEqual(
      [
        ['error', 2],
        ['requeue', 1],
        ['requeue_after', 1],
        ['success', 1],
      ].map(([result, count]) => `controller_runtime_reconcile_total{controller="foo",result="${result}"} ${count}`),
    );
    expect(await lines(metrics, 'controller_runtime_reconcile_errors_total')).toEqual([
      'controller_runtime_reconcile_errors_total{controller="foo"} 2',
    ]);
    expect(await lines(metrics, 'controller_runtime_terminal_')).toEqual([
      'controller_runtime_terminal_reconcile_errors_total{controller="foo"} 1',
    ]);
    metrics.reconcileTimedOut('foo');
    expect(await lines(metrics, 'controller_runtime_reconcile_timeouts')).toEqual([
      'controller_runtime_reconcile_timeouts_total{controller="foo"} 1',
    ]);
    expect(await lines(metrics, 'controller_runtime_max_')).toEqual([
      'controller_runtime_max_concurrent_reconciles{controller="foo"} 3',
    ]);
  });

  it('measures reconciles', async () => {
    const clock = new VirtualClock();
    const metrics = new ControllerMetrics({ clock });
    const ended = metrics.reconcileStarted('foo');
    expect(await lines(metrics, 'controller_runtime_active_workers')).toEqual([
      'controller_runtime_active_workers{controller="foo"} 1',
    ]);
    await clock.advance(700);
    ended();
    expect(await lines(metrics, 'controller_runtime_active_workers')).toEqual([
      'controller_runtime_active_workers{controller="foo"} 0',
    ]);
    const buckets = await lines(metrics, 'controller_runtime_reconcile_time_seconds_bucket');
    expect(buckets.filter((line) => /le="(0.6|0.7)"/.test(line))).toEqual([
      'controller_runtime_reconcile_time_seconds_bucket{le="0.6",controller="foo"} 0',
      'controller_runtime_reconcile_time_seconds_bucket{le="0.7",controller="foo"} 1',
    ]);
  });

  it('tells of a lease what client-go tells', async () => {
    const metrics = new ControllerMetrics();
    metrics.leaderChanged('x', false);
    const page = () => lines(metrics, 'leader_election_');
    expect(await page()).toEqual([
      'leader_election_master_status{name="x"} 0',
      'leader_election_slowpath_total{name="x"} 0',
    ]);
    metrics.leaderChanged('x', true);
    metrics.renewedSlowly('x');
    expect(await page()).toEqual([
      'leader_election_master_status{name="x"} 1',
      'leader_election_slowpath_total{name="x"} 1',
    ]);
  });

  it("counts the client's requests while it follows them", async () => {
    const metrics = new ControllerMetrics();
    const channel = diagnostics_channel.channel('kapstan:client:request');
    const unfollow = metrics.followRequests();
    const request = { method: 'GET', host: 'h:1', attempt: 0, durationMs: 200, rateLimitedMs: 3000 };
    channel.publish({ ...request, status: 200 });
    channel.publish({ ...request, error: new Error('reset') });
    unfollow();
    channel.publish({ ...request, status: 200 });
    expect(await lines(metrics, 'rest_client_requests_total')).toEqual([
      'rest_client_requests_total{code="200",host="h:1",method="GET"} 1',
      'rest_client_requests_total{code="<error>",host="h:1",method="GET"} 1',
    ]);
    const buckets = (le: readonly string[], counts: readonly number[], name: string) =>
      le.map((bound, at) => `${name}_bucket{host="h:1",verb="GET",le="${bound}"} ${counts[at]}`);
    const bounds = ['0.005', '0.025', '0.1', '0.25', '0.5', '1', '2', '4', '8', '15', '30', '60', '+Inf'];
    const duration = 'rest_client_request_duration_seconds';
    expect(await lines(metrics, duration)).toEqual([
      ...buckets(bounds, [0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2], duration),
      `${duration}_sum{host="h:1",verb="GET"} 0.4`,
      `${duration}_count{host="h:1",verb="GET"} 2`,
    ]);
    const wait = 'rest_client_rate_limiter_duration_seconds';
    expect(await lines(metrics, wait)).toEqual([
      ...buckets(bounds, [0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2], wait),
      `${wait}_sum{host="h:1",verb="GET"} 6`,
      `${wait}_count{host="h:1",verb="GET"} 2`,
    ]);
  });

  it("shows the client's requests also as OpenMetrics and as JSON, and keeps them over a reset", async () => {
    const registry = new Registry<OpenMetricsContentType>();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const metrics = new ControllerMetrics({ registry: registry as unknown as Registry });
    const unfollow = metrics.followRequests();
    const request = { method: 'GET', host: 'h:1', status: 200, attempt: 0, durationMs: 200, rateLimitedMs: 0 };
    diagnostics_channel.channel('kapstan:client:request').publish(request);
    unfollow();
    registry.resetMetrics();
    const text = await registry.metrics();
    expect(text).toContain(
      '# TYPE rest_client_requests counter\nrest_client_requests_total{code="200",host="h:1",method="GET"} 1\n',
    );
    expect(await registry.metrics()).toBe(text);
    const json = await registry.getMetricsAsJSON();
    expect(json.find(({ name }) => name === 'rest_client_request_duration_seconds')).toMatchObject({
      type: 'histogram',
      aggregator: 'sum',
    });
  });
});
