// TracedCall: one gRPC call as a part of a request's trace, with the names of otelgrpc. Made by unary.ts for the calls of
// traced requests alone. Source: otelgrpc stats_handler.go.
import { type ClientUnaryCall, type Metadata, type MethodDefinition, type ServiceError, status } from '@grpc/grpc-js';
import type { CallSpan } from '@kapstan/storage';

export class TracedCall<Q, R> {
  readonly #part: CallSpan;
  readonly #method: MethodDefinition<Q, R>;

  constructor(span: CallSpan, method: MethodDefinition<Q, R>) {
    const name = method.path.slice(1);
    this.#part = span.startPart(name, { 'rpc.method': name, 'rpc.system.name': 'grpc' }, 'client');
    this.#method = method;
  }

  /** Returns a copy of the metadata that makes spans of the member parts of this one. Other attempts need their own. */
  metadata(given: Metadata): Metadata {
    const metadata = given.clone();
    metadata.set('traceparent', this.#part.traceParent);
    return metadata;
  }

  readonly serialize = (request: Q): Buffer => this.#told('SENT', this.#method.requestSerialize(request));

  readonly deserialize = (bytes: Buffer): R => this.#method.responseDeserialize(this.#told('RECEIVED', bytes));

  end(error: ServiceError | null, call: ClientUnaryCall): void {
    const [, host, port] = /^(?:ipv[46]:)?\[?(.*?)\]?:(\d+)$/.exec(call.getPeer()) ?? [];
    if (host !== undefined) this.#part.addAttributes({ 'server.address': host, 'server.port': Number(port) });
    this.#part.addAttributes({ 'rpc.response.status_code': goName(error?.code ?? status.OK) });
    if (error !== null) this.#part.fail();
    this.#part.end();
  }

  #told(type: 'SENT' | 'RECEIVED', bytes: Buffer): Buffer {
    const sizes = { 'rpc.message.compressed_size': bytes.length, 'rpc.message.uncompressed_size': bytes.length };
    this.#part.addEvent('message', { 'rpc.message.type': type, 'rpc.message.id': 1, ...sizes });
    return bytes;
  }
}

/** Returns "DeadlineExceeded" for DEADLINE_EXCEEDED. Source: google.golang.org/grpc/codes. */
function goName(code: status): string {
  if (code === status.OK) return 'OK';
  if (code === status.CANCELLED) return 'Canceled';
  const words = (status[code] ?? 'UNKNOWN').split('_');
  return words.map((word) => `${word.slice(0, 1)}${word.slice(1).toLowerCase()}`).join('');
}
