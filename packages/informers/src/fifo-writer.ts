// FifoWriter is the store of an informer's reflector: each write goes into the FIFO, then everything queued is delivered. It sits between
// reflector-driver.ts and the FIFO with its process-loop.ts.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { Fifo } from './fifo/fifo.ts';
import type { DeliveryGate } from './fifo/process-loop.ts';
import type { ReflectorStore } from './reflector/reflector-options.ts';

export class FifoWriter<T extends KubernetesObject> implements Required<ReflectorStore<T>> {
  readonly #fifo: Fifo<T>;
  readonly #gate: DeliveryGate;

  constructor(fifo: Fifo<T>, gate: DeliveryGate) {
    this.#fifo = fifo;
    this.#gate = gate;
  }

  add(object: DeepReadonly<T>): void {
    this.#write(() => this.#fifo.add(object));
  }

  update(object: DeepReadonly<T>): void {
    this.#write(() => this.#fifo.update(object));
  }

  delete(object: DeepReadonly<T>): void {
    this.#write(() => this.#fifo.delete(object));
  }

  replace(objects: Iterable<DeepReadonly<T>>, resourceVersion: string): void {
    this.#write(() => this.#fifo.replace(objects, resourceVersion));
  }

  bookmark(resourceVersion: string): void {
    this.#write(() => this.#fifo.bookmark(resourceVersion));
  }

  resync(): void {
    this.#write(() => this.#fifo.resync());
  }

  /** Queues first, then delivers. Within a delivery it only queues, and that delivery continues with it. */
  #write(queue: () => void): void {
    const isOutermost = this.#gate.hold();
    try {
      queue();
    } finally {
      if (isOutermost) this.#gate.deliver();
    }
  }
}
