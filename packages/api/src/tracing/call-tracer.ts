// CallTracer: the port through which a client reports a call, so that the call becomes part of a trace. A caller passes it in the options
// of a call; http-call-tracer.ts implements it, the transport of @kapstan/client calls it.
import type { GroupResource } from '../objects/group-version.ts';

/** A call over HTTP. */
export interface TracedCall {
  readonly method: string;
  /** The server's URL; its path is the prefix of `path`. */
  readonly server: URL;
  /** Path and query below the server's. */
  readonly path: string;
  /** The requested resource. Undefined for requests outside the resources. */
  readonly resource: GroupResource | undefined;
}

/** One call with all its attempts. */
export interface CallSpan {
  /** Starts an attempt, and ends the one before it. Returns the headers that make the server's spans parts of it. */
  attempt(): Readonly<Record<string, string>>;
  /** The attempt was answered with this status. */
  answered(status: number): void;
  /** The attempt was not answered, or its answer could not be read. */
  failed(error: unknown): void;
  /** Ends the last attempt. Idempotent. */
  end(): void;
}

export interface CallTracer {
  startCall(call: TracedCall): CallSpan;
}
