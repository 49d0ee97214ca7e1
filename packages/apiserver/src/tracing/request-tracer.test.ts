import { parseTraceParent } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { RequestTracer, type TracedRequest } from './request-tracer.ts';
import type { FinishedSpan } from './span.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

function start(samplingRatePerMillion?: number, id = 'ff'.repeat(16)) {
  const spans: FinishedSpan[] = [];
  const clock = new VirtualClock();
  const random = (bytes: number): Buffer => Buffer.from(id.slice(0, 2 * bytes), 'hex');
  const tracer = new RequestTracer({
    sink: { add: (span) => spans.push(span) },
    samplingRatePerMillion,
    clock,
    random,
  });
  return { tracer, spans, clock };
}

const request = (more: Partial<TracedRequest> = {}): TracedRequest => ({
  name: 'GET',
  isTrusted: true,
  traceParent: undefined,
  traceState: undefined,
  arrivedMs: 0,
  attributes: () => ({}),
  ...more,
});

describe('the header traceparent', () => {
  it.each([
    [`00-${traceId}-${spanId}-01`, true],
    [`00-${traceId}-${spanId}-00`, false],
    [`00-${traceId}-${spanId}-02`, false],
    [`01-${traceId}-${spanId}-09`, true],
    [`01-${traceId}-${spanId}-01-more`, true],
  ])('%s is read: sampled %s', (header, isSampled) => {
    expect(parseTraceParent(header, 'a=1')).toEqual({ traceId, spanId, isSampled, traceState: 'a=1' });
  });

  it.each([
    undefined,
    '',
    'x',
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-03`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.slice(1)}-${spanId}-01`,
  ])('%s is as good as none', (header) => {
    expect(parseTraceParent(header, undefined)).toBeUndefined();
  });

  it('goes without a state that is too long or not printable', () => {
    for (const state of ['x'.repeat(513), 'a\u0001', 'ä']) {
      expect(parseTraceParent(`00-${traceId}-${spanId}-01`, state)?.traceState).toBe('');
    }
  });
});

describe('a tracer', () => {
  it.each([
    [0, '00'.repeat(16), false],
    [1_000_000, 'ff'.repeat(16), true],
    // Half of all ids are below the bound: the ones whose last eight bytes begin with a zero bit.
    [500_000, `${'ff'.repeat(8)}7f${'ff'.repeat(7)}`, true],
    [500_000, `${'00'.repeat(8)}80${'00'.repeat(7)}`, false],
  ])('of rate %i decides by the id %s: %s', (rate, id, isSampled) => {
    expect(start(rate, id).tracer.start(request()) !== undefined).toBe(isSampled);
  });

  it('asks for no attributes of a request that is not traced', () => {
    const attributes = (): never => {
      throw new Error('asked');
    };
    expect(start(0).tracer.start(request({ attributes }))).toBeUndefined();
  });

  it('passes on the trace context, but exports no span, when the caller does not trace', () => {
    const { tracer: own, spans } = start(1_000_000);
    const span = own.start(request({ traceParent: `00-${traceId}-${spanId}-00` }))?.request;
    expect(span?.recorded).toBeUndefined();
    expect(span?.startPart('p', {}).traceParent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    span?.end();
    expect(spans).toEqual([]);
  });

  it('does not let the wall clock disorder a span, and ends it once', async () => {
    const { tracer: own, spans, clock } = start(1_000_000);
    const span = own.start(request())?.request;
    await clock.advance(5);
    span?.addEvent('e');
    await clock.advance(5);
    span?.end();
    span?.end();
    const [only, ...others] = spans;
    expect(others).toEqual([]);
    const startMs = only?.startMs ?? 0;
    expect([only?.events[0]?.atMs, only?.endMs]).toEqual([startMs + 5, startMs + 10]);
  });

  it('bounds what clients can put into a span', () => {
    const { tracer: own, spans } = start(1_000_000);
    const span = own.start(request({ attributes: () => ({ path: 'x'.repeat(5000), count: 1 }) }))?.request;
    for (let i = 0; i < 200; i++) span?.addEvent('e');
    span?.end();
    expect(String(spans[0]?.attributes.path)).toHaveLength(2048);
    expect(spans[0]?.events).toHaveLength(128);
  });
});
