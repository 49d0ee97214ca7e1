// TunnelRegistry knows the open tunnels (upgraded connections, proxied requests, logs), so that a stopping server can
// end them. Filled by tunnel-upgrade.ts, tunnel-forward.ts, get-handler.ts and proxy-handler.ts.

export class TunnelRegistry {
  readonly #open = new Set<() => void>();
  #isClosing = false;

  get size(): number {
    return this.#open.size;
  }

  /**
   * Adds a tunnel. `end` is called when the server stops, or at once if it has stopped. The returned function removes
   * the tunnel.
   */
  add(end: () => void): () => void {
    this.#open.add(end);
    if (this.#isClosing) end();
    return () => void this.#open.delete(end);
  }

  /** Ends all tunnels, and those added later. */
  endAll(): void {
    this.#isClosing = true;
    for (const end of this.#open) end();
  }
}
