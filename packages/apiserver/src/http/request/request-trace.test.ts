import { VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { RequestTracer } from '../../tracing/request-tracer.ts';
import type { FinishedSpan, Span } from '../../tracing/span.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ResourceRequest } from '../exchange/request-info.ts';
import { beginTrace, enterFilter, traceResource, traceWatch } from './request-trace.ts';

const info = {
  ...{ type: 'resource', verb: 'get', group: '', version: 'v1', resource: 'pods' },
  ...{ namespace: 'ns', name: 'a', subresource: '', parts: ['pods', 'a'] },
} as unknown as ResourceRequest;
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

let clock: VirtualClock;
let spans: FinishedSpan[];
beforeEach(() => {
  spans = [];
  clock = new VirtualClock();
});

interface Begun {
  readonly exchange: Exchange;
  readonly span: Span;
  /** Ends the exchange, as the client does when it goes away. */
  readonly close: () => void;
}

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly groups?: readonly string[];
  /** Time of the authentication. */
  readonly tookMs?: number;
}

function begin({ headers = {}, groups = ['system:masters'], tookMs = 0 }: Asked = {}): Begun {
  const sink = { add: (span: FinishedSpan) => void spans.push(span) };
  const tracer = new RequestTracer({ sink, samplingRatePerMillion: 1_000_000, clock });
  let close = (): void => undefined;
  const exchange = {
    ...{
      auditId: 'a',
      method: 'GET',
      path: '/',
      rawQuery: '',
      query: new URLSearchParams(),
      status: 200,
      answerBytes: 0,
    },
    header: (name: string) => headers[name],
    headerValues: () => [],
    onClose: (listener: () => void) => {
      close = listener;
    },
  } as unknown as Exchange;
  beginTrace(tracer, {
    exchange,
    info,
    user: { name: 'alice', groups },
    arrivedMs: clock.monotonicNow() - tookMs,
  });
  return { exchange, span: exchange.span as Span, close: () => close() };
}

const exchangeName = 'GET /api/v1/namespaces/{:namespace}/pods/{:name}';
const named = (name: string): FinishedSpan => {
  const found = spans.find((span) => span.name === name);
  expect(found, name).toBeDefined();
  return found as FinishedSpan;
};
const parentOf = ({ parentSpanId }: FinishedSpan): string | undefined =>
  spans.find(({ context }) => context.spanId === parentSpanId)?.name;
const lasted = ({ startMs, endMs }: FinishedSpan): number => endMs - startMs;

describe('the span of the authentication', () => {
  it('holds the request whose trace begins here, from its arrival to its end', async () => {
    await clock.advance(50);
    const { close } = begin({ tookMs: 30 });
    await clock.advance(5);
    close();
    expect(parentOf(named(exchangeName))).toBe('authentication');
    expect(named('authentication')).toMatchObject({ parentSpanId: '', kind: 'internal', attributes: {} });
    expect([lasted(named('authentication')), lasted(named(exchangeName))]).toEqual([35, 35]);
  });

  it.each([
    ["goes on its caller's trace", {}],
    ['may not decide what is traced', { groups: [] }],
  ])('is a part of a request that %s, and over when the user is known', async (_what, more) => {
    await clock.advance(50);
    const { close } = begin({ headers: { traceparent }, tookMs: 30, ...more });
    await clock.advance(5);
    close();
    expect(parentOf(named('authentication'))).toBe(exchangeName);
    expect([lasted(named('authentication')), lasted(named(exchangeName))]).toEqual([30, 35]);
  });
});

it('makes what the handler does a part of it, and afterwards of the filter', async () => {
  const { exchange, span, close } = begin();
  enterFilter(exchange, 'authorization');
  const filter = exchange.span as Span;
  expect(filter).not.toBe(span);
  await traceResource({ exchange, info, span: filter }, () => {
    exchange.span?.startPart('inner', {}).end();
  });
  expect(parentOf(named('inner'))).toBe('Get');
  expect(exchange.span).toBe(filter);
  close();
  expect(parentOf(named('Get'))).toBe('authorization');
});

describe('the spans of a watch', () => {
  const watching = { ...info, verb: 'watch' } as ResourceRequest;

  it('of a streamed list end with its initial events', async () => {
    const { exchange, close } = begin();
    const watch = traceWatch(exchange, watching, true);
    exchange.span?.startPart('cacher.Watch', {}).end();
    watch?.open('application/json');
    await clock.advance(10);
    watch?.initialEventsSent();
    await clock.advance(1000);
    watch?.end();
    close();
    expect(parentOf(named('cacher.Watch'))).toBe('WatchList');
    expect(parentOf(named('WatchServer.HandleHTTP'))).toBe('WatchList');
    expect(named('WatchServer.HandleHTTP').events.map(({ name }) => name)).toEqual([
      'About to start writing response',
      'Writing initial events done',
    ]);
    expect([lasted(named('WatchList')), lasted(named(exchangeName))]).toEqual([10, 1010]);
  });

  it('of another watch end with it', async () => {
    const { exchange, close } = begin();
    const watch = traceWatch(exchange, watching, false);
    watch?.open('application/json');
    await clock.advance(10);
    watch?.end();
    close();
    expect(parentOf(named('WatchServer.HandleHTTP'))).toBe(exchangeName);
    expect(lasted(named('WatchServer.HandleHTTP'))).toBe(10);
    expect(spans.map(({ name }) => name)).not.toContain('WatchList');
  });
});
