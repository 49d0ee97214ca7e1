import { describe, expect, it } from 'vitest';
import type { Exchange } from '../exchange/exchange.ts';
import { parseRequestInfo, type RequestInfo } from '../exchange/request-info.ts';
import { InflightLimit } from './inflight-limit.ts';
import type { RequestPlace } from './request-limit.ts';

const info = (method: string, path: string): RequestInfo =>
  parseRequestInfo({ method, path, query: new URLSearchParams(path.split('?')[1]) }, new Set(['log']));
const read = info('GET', '/api/v1/pods');

/** A limit, and requests to it. */
function limitOf(maxRequestsInflight: number, maxMutatingRequestsInflight = 1) {
  const limit = new InflightLimit({ maxRequestsInflight, maxMutatingRequestsInflight });
  const headers = new Map<string, string>();
  const exchange = { setHeader: (name: string, value: string) => headers.set(name, value) } as unknown as Exchange;
  const come = (request = read, groups: readonly string[] = []): RequestPlace | undefined =>
    limit.enter({ exchange, info: request, user: { name: 'ann', groups }, nowMs: 0 });
  return { limit, come, headers };
}

describe('requests in flight without priority and fairness', () => {
  it('are admitted up to the limit; the next is refused with a time to try again', () => {
    const { limit, come, headers } = limitOf(3);
    const places = [come(), come(), come()];
    expect(places).not.toContain(undefined);
    expect(limit.executing()).toEqual({ readOnly: 3, mutating: 0 });
    expect([come(), headers.get('Retry-After')]).toEqual([undefined, '1']);
    places[0]?.leave();
    expect(come()).toBeDefined();
  });

  it('leave room once, however often they say so', () => {
    const { limit, come } = limitOf(2);
    const first = come();
    come();
    first?.leave();
    first?.end();
    first?.leave();
    expect(limit.executing().readOnly).toBe(1);
  });

  it.each([
    ['a write', 'POST', '/api/v1/namespaces/a/pods', true],
    ['a watch', 'GET', '/api/v1/pods?watch=1', true],
    ['logs', 'GET', '/api/v1/namespaces/a/pods/b/log', true],
    ['a probe', 'GET', '/readyz', false],
    ['another path', 'GET', '/version', false],
  ])('of reads hold up %s: not %s %s', (_, method, path, comesIn) => {
    const { come } = limitOf(1);
    come();
    expect(come(info(method, path)) !== undefined).toBe(comesIn);
  });

  it('are not limited for system:masters, who come in beside the others', () => {
    const { limit, come } = limitOf(1);
    come();
    const beside = [1, 2].map(() => come(read, ['system:masters']));
    expect(beside).not.toContain(undefined);
    expect(limit.executing().readOnly).toBe(1);
  });

  it('are not limited where the limit is 0', () => {
    const { come, limit } = limitOf(0);
    for (let i = 0; i < 1000; i++) come();
    expect(limit.executing().readOnly).toBe(1000);
    expect(come()).toBeDefined();
  });
});
