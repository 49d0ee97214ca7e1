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

  // Each method queues first, then delivers. Within a delivery it only queues, and that delivery continues with it.

  add(object: DeepReadonly<T>): void {
    const isOutermost = this.#gate.hold();
    try {
      this.#fifo.add(object);
    } finally {
      if (isOutermost) this.#gate.deliver();
    }
  }

  update(object: DeepReadonly<T>): void {
    const isOutermost = this.#gate.hold();
    try {
      this.#fifo.update(object);
    } finally {
      if (isOutermost) this.#gate.deliver();
    }
  }

  delete(object: DeepReadonly<T>): void {
    const isOutermost = this.#gate.hold();
    try {
      this.#fifo.delete(object);
    } finally {
      if (isOutermost) this.#gate.deliver();
    }
  }

  replace(objects: Iterable<DeepReadonly<T>>, resourceVersion: string): void {
    const isOutermost = this.#gate.hold();
    try {
      this.#fifo.replace(objects, resourceVersion);
    } finally {
      if (isOutermost) this.#gate.deliver();
    }
  }

  bookmark(resourceVersion: string): void {
    const isOutermost = this.#gate.hold();
    try {
      this.#fifo.bookmark(resourceVersion);
    } finally {
      if (isOutermost) this.#gate.deliver();
    }
  }

  resync(): void {
    const isOutermost = this.#gate.hold();
    try {
      this.#fifo.resync();
    } finally {
      if (isOutermost) this.#gate.deliver();
    }
  }
}
