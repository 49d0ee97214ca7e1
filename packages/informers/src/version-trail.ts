// The versions that travel through a FIFO beside its entries: one is reached when all that was queued before it is popped.
// Used by DeltaFifo and InOrderFifo. Source: Bookmark and ReplacedAll of client-go's RealFIFO, without entries of their own,
// because a keyed queue pops changes in another order than they came.

/** Reached versions follow each other in the order in which they were noted; several between two entries are one. */
export class VersionTrail {
  #reached = '';
  #queued = 0;
  #popped = 0;
  // Invariant: by the number of entries that must be popped, each above #popped; the newest stands beside, since mostly it is alone.
  readonly #ahead = new Map<number, string>();
  #newest = '';
  #newestAt = 0;

  /** Version up to which everything that came is popped; "" = none yet. */
  get reached(): string {
    return this.#reached;
  }

  /** An entry went to the end of the queue. */
  noteQueued(): void {
    this.#queued++;
  }

  /** The first entry left the queue. */
  notePopped(): void {
    this.#popped++;
    const version = this.#popped === this.#newestAt ? this.#newest : this.#ahead.get(this.#popped);
    if (version === undefined) return;
    this.#reached = version;
    if (this.#popped !== this.#newestAt) this.#ahead.delete(this.#popped);
  }

  /** Everything up to this version is in the queue, or was. "" and absence say nothing. */
  note(version: string | undefined): void {
    if (version === undefined || version === '') return;
    if (this.#queued === this.#popped) this.#reached = version;
    else this.#noteAhead(version);
  }

  #noteAhead(version: string): void {
    if (this.#newestAt > this.#popped && this.#newestAt < this.#queued) this.#ahead.set(this.#newestAt, this.#newest);
    this.#newest = version;
    this.#newestAt = this.#queued;
  }
}
