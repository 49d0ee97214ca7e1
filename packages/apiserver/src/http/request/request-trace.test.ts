import { channel } from 'node:diagnostics_channel';
import { VirtualClock } from '@kapstan/api/testing';
import { storeChannelName } from '@kapstan/storage';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RequestTracer } from '../../tracing/request-tracer.ts';
import type { FinishedSpan, Span } from '../../tracing/span.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ResourceRequest } from '../exchange/request-info.ts';
import { beginTrace, traceResource } from './request-trace.ts';

const info = {
  ...{ type: 'resource', verb: 'get', group: '', version: 'v1', resource: 'pods' },
  ...{ namespace: 'ns', name: 'a', subresource: '', parts: ['pods', 'a'] },
} as unknown as ResourceRequest;
const user = { name: 'alice', groups: [] };

let tracer: RequestTracer;
let spans: FinishedSpan[];

beforeEach(() => {
  spans = [];
  const sink = { add: (span: FinishedSpan) => void spans.push(span) };
  tracer = new RequestTracer({ sink, samplingRatePerMillion: 1_000_000, clock: new VirtualClock() });
});
afterEach(() => tracer.close());

interface TracedRequest {
  readonly exchange: Exchange;
  readonly span: Span;
  /** Ends the exchange, as the client does when it goes away. */
  readonly close: () => void;
}

function begin(auditId: string): TracedRequest {
  let close = (): void => undefined;
  const exchange = {
    ...{ auditId, method: 'GET', path: '/', rawQuery: '', query: new URLSearchParams(), status: 200, answerBytes: 0 },
    header: () => undefined,
    headerValues: () => [],
    onClose: (listener: () => void) => {
      close = listener;
    },
  } as unknown as Exchange;
  beginTrace(tracer, { exchange, info, user });
  return { exchange, span: exchange.span as Span, close: () => close() };
}

/** Returns the ids of the spans that calls of the store for this audit id became parts of. */
function parentsOfStoreCall(auditId: string): readonly string[] {
  const call = { name: 'Get etcd3', attributes: { 'audit-id': auditId }, startMs: 0, durationMs: 1, steps: [] };
  const before = spans.length;
  channel(storeChannelName).publish(call);
  return spans.slice(before).map(({ parentSpanId }) => parentSpanId);
}

it('holds no span of a request whose client left while its handler ran', async () => {
  const { exchange, span, close } = begin('a');
  await traceResource(tracer, { exchange, info, span }, () => close());
  expect(parentsOfStoreCall('a')).toEqual([]);
});

it('gives a request no part of another one that sent the same Audit-ID', async () => {
  const first = begin('a');
  const second = begin('a');
  await traceResource(tracer, { ...second, info }, () => {
    expect(parentsOfStoreCall('a')).toEqual([first.span.context.spanId]);
  });
  second.close();
  expect(parentsOfStoreCall('a')).toEqual([first.span.context.spanId]);
  first.close();
  expect(parentsOfStoreCall('a')).toEqual([]);
});

it('makes calls of the store parts of what the handler does, and afterwards of the exchange', async () => {
  const { exchange, span, close } = begin('a');
  await traceResource(tracer, { exchange, info, span }, () => {
    expect(parentsOfStoreCall('a')).toEqual([exchange.span?.context.spanId]);
    expect(exchange.span).not.toBe(span);
  });
  expect(parentsOfStoreCall('a')).toEqual([span.context.spanId]);
  close();
});
