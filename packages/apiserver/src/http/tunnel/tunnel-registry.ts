// TunnelRegistry: the ways through this server that are open now: upgraded connections, proxied requests, logs. So that a server
// that stops can end them. Filled by connect-handler.ts and get-handler.ts.

export class TunnelRegistry {
  readonly #open = new Set<() => void>();
  #isClosing = false;

  get size(): number {
    return this.#open.size;
  }

  /** `end` is called when the server stops, at once if it has. The result takes it back. */
  add(end: () => void): () => void {
    this.#open.add(end);
    if (this.#isClosing) end();
    return () => void this.#open.delete(end);
  }

  /** Ends all, and those that come later. */
  endAll(): void {
    this.#isClosing = true;
    for (const end of this.#open) end();
  }
}
