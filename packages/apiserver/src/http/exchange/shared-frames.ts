// SharedFrames joins several frames once for all streams that write the same frames. It sits between the frames of
// watch-frames.ts and the streams of response-stream.ts.

/** Keeps a result for the lifetime of its first frame. If several begin with the same frame, only the last is kept. */
export class SharedFrames {
  readonly #make: (frames: readonly Uint8Array[]) => Uint8Array;
  readonly #made = new WeakMap<Uint8Array, { readonly frames: readonly Uint8Array[]; readonly bytes: Uint8Array }>();

  constructor(make: (frames: readonly Uint8Array[]) => Uint8Array) {
    this.#make = make;
  }

  /** Returns the frames as one; at least one must be given. The result is shared, so do not write into it. */
  of(frames: readonly Uint8Array[]): Uint8Array {
    const first = frames[0] as Uint8Array;
    const known = this.#made.get(first);
    if (known !== undefined && areSame(known.frames, frames)) return known.bytes;
    const bytes = this.#make(frames);
    this.#made.set(first, { frames, bytes });
    return bytes;
  }
}

function areSame(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((frame, index) => frame === b[index]);
}
