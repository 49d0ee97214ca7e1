// CallSpan: the part of a request's trace that a call of a store belongs to. The server's tracer implements it; stores and
// engines start parts of it. Absent in the options of a call = the call is not traced.

/** Attributes of a span or of a traced step. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** The part of a request's trace that a call of a store belongs to. Stores and engines start parts of it. */
export interface CallSpan {
  /** Header that makes the spans of another process parts of this one. */
  readonly traceParent: string;
  /** Starts a part. 'client' = a call to another process. */
  startPart(name: string, attributes: SpanAttributes, kind?: 'internal' | 'client'): CallSpan;
  /** Records that something happened now. */
  addEvent(name: string, attributes?: SpanAttributes): void;
  /** Adds attributes, or replaces those of the same name. */
  addAttributes(attributes: SpanAttributes): void;
  /** Marks the span as failed. */
  fail(): void;
  /** Gives the span away, once. */
  end(): void;
}
