// TraceContext: the place of a span in a trace, and its header traceparent. Used by apiserver/src/tracing/request-tracer.ts, and by controllers.
// Source: W3C Trace Context, as go.opentelemetry.io/otel/propagation reads it.

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** "" = none. */
  readonly traceState: string;
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Longer lists are dropped, and so are lists with characters other than printable ASCII. */
const traceStatePattern = /^[\x20-\x7e]{1,512}$/;

/** Returns undefined for a header that is absent or breaks the rules, as if it were absent. */
export function parseTraceParent(header: string | undefined, traceState: string | undefined): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = pattern.exec(header?.trim() ?? '') ?? [];
  if (version === undefined || version === 'ff') return undefined;
  const isFirstVersion = version === '00';
  if (isFirstVersion && (rest !== undefined || Number.parseInt(flags, 16) > 2)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  const state = traceState !== undefined && traceStatePattern.test(traceState) ? traceState : '';
  return { traceId, spanId, isSampled, traceState: state };
}

export function formatTraceParent({ traceId, spanId, isSampled }: Omit<TraceContext, 'traceState'>): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
