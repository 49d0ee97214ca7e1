// ByteLane: one direction of a proxied connection. Two of them form a connection of byte-proxy.ts.
import type { Socket } from 'node:net';
import type { CancelTimer, Clock } from '@kapstan/api';

export interface ByteLaneOptions {
  readonly from: Socket;
  readonly to: Socket;
  readonly clock: Clock;
  readonly onBytes: () => void;
}

/** Forwards bytes and the end of the stream. At most one chunk waits here; beyond that, TCP slows the sender down. */
export class ByteLane {
  delayMs = 0;
  readonly #options: ByteLaneOptions;
  #isHeld = false;
  #waiting: Buffer | undefined;
  #cancelDelay: CancelTimer | undefined;
  #hasEnded = false;

  constructor(options: ByteLaneOptions) {
    this.#options = options;
    const { from, to } = options;
    from.on('data', (chunk: Buffer) => this.#onData(chunk));
    from.on('end', () => {
      this.#hasEnded = true;
      this.#options.onBytes();
      this.#forwardEnd();
    });
    to.on('drain', () => this.#resume());
  }

  hold(): void {
    this.#isHeld = true;
    this.#options.from.pause();
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    if (this.#cancelDelay === undefined) this.#forward();
  }

  close(): void {
    this.#cancelDelay?.();
    this.#cancelDelay = undefined;
    this.#waiting = undefined;
  }

  #onData(chunk: Buffer): void {
    this.#options.onBytes();
    this.#waiting = this.#waiting === undefined ? chunk : Buffer.concat([this.#waiting, chunk]);
    this.#options.from.pause();
    if (this.delayMs === 0) return this.#forward();
    this.#cancelDelay ??= this.#options.clock.setTimer(() => {
      this.#cancelDelay = undefined;
      this.#forward();
    }, this.delayMs);
  }

  #forward(): void {
    if (this.#isHeld) return;
    const chunk = this.#waiting;
    this.#waiting = undefined;
    const { to } = this.#options;
    const hasRoom = chunk === undefined || !to.writable || to.write(chunk);
    if (chunk !== undefined) this.#options.onBytes();
    this.#forwardEnd();
    if (hasRoom) this.#resume();
  }

  #forwardEnd(): void {
    if (!this.#hasEnded || this.#isHeld || this.#waiting !== undefined) return;
    if (this.#options.to.writable) this.#options.to.end();
  }

  #resume(): void {
    if (!this.#isHeld && this.#waiting === undefined) this.#options.from.resume();
  }
}
