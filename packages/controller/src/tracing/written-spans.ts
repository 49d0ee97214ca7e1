// WrittenSpans remembers the span in which this process wrote each version of an object, so that the reconcile caused by the change can
// link to it, even in another controller of the manager. Used by run-tracer.ts.
import type { TraceSpanContext } from '@kapstan/api/internal';
import type { ChangedObject } from '@kapstan/inspector';

const maxVersions = 4096;

type WrittenObject = Pick<ChangedObject, 'kind' | 'namespace' | 'name'>;

/** Memory: the last 4096 versions that traced runs wrote. */
export class WrittenSpans {
  /** The oldest first. */
  readonly #spans = new Map<string, TraceSpanContext>();
  /** Writes that are not answered yet, because a watch may deliver the change earlier. */
  readonly #underWay = new Map<string, TraceSpanContext>();

  /** Records that an object is being written. */
  begin(object: WrittenObject, span: TraceSpanContext): void {
    this.#underWay.set(placeOf(object), span);
  }

  /** Forgets writes of a span that failed. */
  end(span: TraceSpanContext): void {
    for (const [place, { spanId }] of this.#underWay) if (spanId === span.spanId) this.#underWay.delete(place);
  }

  /** Records the version that was written. */
  note(object: WrittenObject, version: string, span: TraceSpanContext): void {
    this.#underWay.delete(placeOf(object));
    this.#spans.set(keyOf(object, version), span);
    if (this.#spans.size <= maxVersions) return;
    const oldest = this.#spans.keys().next();
    if (!oldest.done) this.#spans.delete(oldest.value);
  }

  /** Returns the span that wrote the version which a change brought. */
  of(change: ChangedObject): TraceSpanContext | undefined {
    // A deleted object has the version of its deletion.
    const written = this.#spans.get(keyOf(change, change.newVersion || change.oldVersion));
    return written ?? this.#underWay.get(placeOf(change));
  }
}

const placeOf = ({ kind, namespace, name }: WrittenObject): string => `${kind} ${namespace}/${name}`;
/** Names contain no blanks, so the parts of a key cannot be confused. */
const keyOf = (object: WrittenObject, version: string): string => `${placeOf(object)} ${version}`;
