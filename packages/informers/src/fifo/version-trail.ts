// The versions that travel through a FIFO together with its entries: a version is reached when all entries queued before it are popped.
// Used by DeltaFifo and InOrderFifo. Source: Bookmark and ReplacedAll of client-go's RealFIFO, without separate entries, because a keyed
// queue does not pop changes in order of arrival.

/** Versions are reached in the order in which they were noted; several between two entries count as one. */
export class VersionTrail {
  #reached = '';
  #queued = 0;
  #popped = 0;
  // Invariant: the keys are numbers of entries that must be popped, each above #popped. The newest is kept separately, because it is usually
  // the only one.
  readonly #ahead = new Map<number, string>();
  #newest = '';
  #newestAt = 0;

  /** Version up to which all received changes are popped; "" = none yet. */
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
