// SourceHandler receives the changes of one source of a controller from the source's informer, and passes them on in
// one form to controller-sources.ts.
import { type DeepReadonly, type KubernetesObject, type ObjectKey, objectKey, type Resource } from '@kapstan/api';
import {
  type DeletedFinalStateUnknown,
  isDeletedFinalStateUnknown,
  type ObjectChange,
  type ResourceEventHandler,
} from '@kapstan/informers';
import type { ReconcileKeys } from '../builder/controller-builder.ts';
import type { Predicate } from '../builder/predicate.ts';
import { nameOf } from './change-to-keys.ts';

/** The kind whose changes count, a filter for them, and the mapping to the objects to reconcile. */
export interface Source {
  readonly kind: Resource;
  readonly when: Predicate<KubernetesObject>;
  /** Says how a change leads to keys, for the inspector. */
  readonly through: 'itself' | 'owner' | 'mapping';
  readonly keysOf: (object: DeepReadonly<KubernetesObject>) => ReconcileKeys;
}

export interface ChangeSink {
  onChange(change: ObjectChange<KubernetesObject>, source: Source): void;
}

export class SourceHandler implements ResourceEventHandler<KubernetesObject> {
  readonly #sink: ChangeSink;
  readonly #source: Source;

  constructor(sink: ChangeSink, source: Source) {
    this.#sink = sink;
    this.#source = source;
  }

  onAdd(object: DeepReadonly<KubernetesObject>, isInInitialList: boolean): void {
    this.#sink.onChange({ type: 'added', key: keyOf(object), object, isInInitialList }, this.#source);
  }

  onUpdate(oldObject: DeepReadonly<KubernetesObject>, object: DeepReadonly<KubernetesObject>): void {
    this.#sink.onChange({ type: 'updated', key: keyOf(object), object, oldObject }, this.#source);
  }

  onDelete(last: DeepReadonly<KubernetesObject> | DeletedFinalStateUnknown<KubernetesObject>): void {
    const isFinalStateUnknown = isDeletedFinalStateUnknown(last);
    const { key, object } = isFinalStateUnknown ? last : { key: keyOf(last), object: last };
    this.#sink.onChange({ type: 'deleted', key, object, isFinalStateUnknown }, this.#source);
  }
}

function keyOf(object: DeepReadonly<KubernetesObject>): ObjectKey {
  const { namespace, name } = nameOf(object);
  return objectKey(namespace, name);
}
