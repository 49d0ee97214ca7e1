// The annotation that names the span in which an object was written, as proposed in KEP-5915. Read where traces are on; written only on
// request, by traced-client.ts.
import type { KubernetesObject } from '@kapstan/api';
import { parseTraceParent, type TraceLink, type TraceSpanContext } from '@kapstan/api/internal';
import type { ObjectChange } from '@kapstan/informers';

export const traceAnnotation = 'tracing.k8s.io/traceparent';

/**
 * Returns a link to the span that an object names. It returns one only when this process first sees the span's name, because later changes
 * of the object have other causes.
 */
export function annotatedLink(change: ObjectChange<KubernetesObject>): TraceLink | undefined {
  if (change.type === 'deleted') return undefined;
  const named = change.object.metadata?.annotations?.[traceAnnotation];
  if (named === undefined) return undefined;
  if (change.type === 'updated' && change.oldObject.metadata?.annotations?.[traceAnnotation] === named)
    return undefined;
  const parent = parseTraceParent(named, undefined);
  if (parent === undefined) return undefined;
  const { traceId, spanId, isSampled } = parent;
  return linkTo({ traceId, spanId, traceFlags: isSampled ? 1 : 0 }, 'annotation');
}

/** `through`: how the span is known. */
export function linkTo(context: TraceSpanContext, through: 'annotation' | 'write'): TraceLink {
  return { context, attributes: { 'kapstan.link': through } };
}
