import { resource } from '@kapstan/api';
import { RequestMetrics } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { json, ScriptedServer, status } from './testing/scripted-server.ts';
import { WireClient as Client } from './testing/wire-client.ts';

const Node = resource({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });

describe('RequestMetrics', () => {
  it('counts attempts, retries and failures under the names of client-go', async () => {
    await using server = await ScriptedServer.start();
    const metrics = new RequestMetrics();
    const busy = json(status(429, 'TooManyRequests', 'wait'), { status: 429, headers: { 'retry-after': '0' } });
    server.next(busy, json({ kind: 'Node' })).always(json({ kind: 'Node' }));
    await using client = new Client({ server: server.url }, { onRequest: metrics.observe });
    await client.get(Node, { name: 'a' });
    await client.get(Node, { name: 'a' });
    await using nowhere = new Client({ server: 'http://127.0.0.1:1' }, { onRequest: metrics.observe });
    await nowhere.create(Node, {}).catch(() => undefined);
    const { host } = new URL(server.url);
    const text = metrics.text();
    expect(
      text.split('\n').filter((line) => line.startsWith('rest_client_request') && !line.includes('seconds')),
    ).toEqual([
      `rest_client_requests_total{code="429",host="${host}",method="GET"} 1`,
      `rest_client_requests_total{code="200",host="${host}",method="GET"} 2`,
      'rest_client_requests_total{code="<error>",host="127.0.0.1:1",method="POST"} 1',
      `rest_client_request_retries_total{code="200",host="${host}",verb="GET"} 1`,
    ]);
    expect(text).toContain(`rest_client_request_duration_seconds_count{host="${host}",verb="GET"} 3\n`);
    expect(text).toContain(`rest_client_request_duration_seconds_bucket{host="${host}",verb="GET",le="60"} 3\n`);
  });

  it('measures what the rate limit held back', async () => {
    await using server = await ScriptedServer.start();
    server.always(json({ kind: 'Node' }));
    const clock = new VirtualClock();
    const metrics = new RequestMetrics();
    const options = { clock, onRequest: metrics.observe, rateLimit: { qps: 0.5, burst: 1 } };
    await using client = new Client({ server: server.url }, options);
    await client.get(Node, { name: 'a' });
    const second = client.get(Node, { name: 'a' });
    await clock.advance(2000);
    await second;
    const name = 'rest_client_rate_limiter_duration_seconds';
    const { host } = new URL(server.url);
    expect(metrics.text()).toContain(`${name}_bucket{host="${host}",verb="GET",le="0.005"} 1\n`);
    expect(metrics.text()).toContain(`${name}_bucket{host="${host}",verb="GET",le="2"} 2\n`);
    expect(metrics.text()).toContain(`${name}_sum{host="${host}",verb="GET"} 2\n`);
  });

  it('escapes what could end a label', () => {
    const metrics = new RequestMetrics();
    metrics.observe({ method: 'GET', host: 'a"b\\c\nd', attempt: 0, durationMs: 1, rateLimitedMs: 0 });
    expect(metrics.text()).toContain('host="a\\"b\\\\c\\nd"');
  });
});
