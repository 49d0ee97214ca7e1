// Spans of the encoding of answers. Used where answers are sent. Source: apiserver responsewriters (SerializeObject),
// handlers/watch.go, whose names these are.
import type { Span, SpanAttributes } from '../../tracing/span.ts';
import type { Exchange } from './exchange.ts';

/** Starts the span of encoding and writing an answer. Undefined = the request is not traced. */
export function startSerializing(exchange: Exchange, mediaType: string): Span | undefined {
  return exchange.span?.startPart('SerializeObject', encodingAttributes(exchange, mediaType));
}

export function encodingAttributes(exchange: Exchange, mediaType: string): SpanAttributes {
  return {
    'audit-id': exchange.auditId,
    method: exchange.method,
    url: exchange.path,
    protocol: protocolOf(exchange),
    mediaType,
  };
}

export function protocolOf(exchange: Exchange): string {
  return exchange.header(':authority') === undefined ? 'HTTP/1.1' : 'HTTP/2.0';
}

/** Sends a whole answer and ends its span. */
export function sendTraced(
  exchange: Exchange,
  status: number,
  { body, span }: { readonly body: Uint8Array; readonly span: Span | undefined },
): void {
  const size = body.length;
  span?.addEvent('About to start writing response', { size });
  exchange.send(status, body);
  span?.addEvent('Write call succeeded', { size });
  span?.end();
}
