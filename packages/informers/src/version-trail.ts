// The versions that travel through a FIFO beside its entries: one is reached when all entries queued before it are popped.
// Used by DeltaFifo and InOrderFifo. Source: Bookmark and ReplacedAll of client-go's RealFIFO, without entries of their own,
// because a keyed queue pops changes in another order than they came.

/** Versions are reached in the order in which they were noted; several between two entries count as one. */
export class VersionTrail {
  #reached = '';
  #queued = 0;
  #popped = 0;
  // Invariant: keyed by the number of entries that must be popped, each above #popped; the newest is kept separately, because usually it is
  // the only one.
  readonly #ahead = new Map<number, string>();
  #newest = '';
  #newestAt = 0;

  /** Version up to which everything received is popped; "" = none yet. */
  get reached(): string {
    return this.#reached;
  }

  /** Notes that an entry was added to the end of the queue. */
  noteQueued(): void {
    this.#queued++;
  }

  /** Notes that the first entry left the queue. */
  notePopped(): void {
    this.#popped++;
    const version = this.#popped === this.#newestAt ? this.#newest : this.#ahead.get(this.#popped);
    if (version === undefined) return;
    this.#reached = version;
    if (this.#popped !== this.#newestAt) this.#ahead.delete(this.#popped);
  }

  /** Notes that everything up to this version is, or was, in the queue. "" and undefined are ignored. */
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
