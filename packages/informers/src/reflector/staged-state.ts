// StagedState collects a whole state while it arrives: the pages of a list, or the initial events of a watch. Part of
// reflector-driver.ts.
import {
  type DeepReadonly,
  type KubernetesObject,
  type ListResult,
  metaNamespaceKey,
  type ObjectKey,
} from '@kapstan/api';
import type { ChangeType } from '@kapstan/api/internal';

export class StagedState<T extends KubernetesObject> {
  /** A list is staged in order, a stream by key. */
  #staged: DeepReadonly<T>[] | Map<ObjectKey, DeepReadonly<T>> = [];

  get objects(): Iterable<DeepReadonly<T>> {
    return this.#staged instanceof Map ? this.#staged.values() : this.#staged;
  }

  beginList(): void {
    this.#staged = [];
  }

  beginStream(): void {
    this.#staged = new Map();
  }

  /** Adds a page to a list, and returns it. Throws TypeError for a value that is not a page. */
  addPage(page: ListResult<T>): ListResult<T> {
    if (!Array.isArray(page?.items)) throw new TypeError('unable to understand list result: it has no items');
    if (Array.isArray(this.#staged)) for (const item of page.items) this.#staged.push(item);
    return page;
  }

  /** Applies an event to a stream. */
  apply(type: ChangeType, object: DeepReadonly<T>): void {
    if (!(this.#staged instanceof Map)) return;
    const key = metaNamespaceKey(object);
    if (type === 'DELETED') this.#staged.delete(key);
    else this.#staged.set(key, object);
  }

  clear(): void {
    this.#staged = [];
  }
}
