// AnsweringSink passes a storage watch on to its request: objects as the kind shows them, errors as the API answers
// them. generic-store.ts makes one for each watch.
import type { KubernetesObject } from '@kapstan/api';
import type { StorageEvent, StorageWatchSink } from '@kapstan/storage';
import type { Decorator } from './decorator.ts';
import { type StoreParts, storageStatus } from './store-parts.ts';

export class AnsweringSink<T extends KubernetesObject> implements StorageWatchSink<T> {
  readonly #sink: StorageWatchSink<T>;
  readonly #parts: StoreParts<T>;
  readonly #decorator: Decorator<T>;

  constructor(sink: StorageWatchSink<T>, parts: StoreParts<T>, decorator: Decorator<T>) {
    this.#sink = sink;
    this.#parts = parts;
    this.#decorator = decorator;
  }

  /** Passes on the same event if the kind computes nothing on read. */
  onEvent(event: StorageEvent<T>): void {
    this.#sink.onEvent(event.type === 'BOOKMARK' ? event : this.#decorator.ofEvent(event));
  }

  /** Turns a StorageError into the StatusError of a watch. */
  onEnd(error?: Error): void {
    this.#sink.onEnd(error === undefined ? undefined : storageStatus(this.#parts, error, { verb: 'watch', name: '' }));
  }

  get isFull(): boolean {
    return this.#sink.isFull ?? false;
  }

  set onRoom(callback: (() => void) | undefined) {
    this.#sink.onRoom = callback;
  }
}
