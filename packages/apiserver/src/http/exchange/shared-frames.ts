// SharedFrames: what a stream writes of several frames at once, made once for all streams that write the same. Between the
// frames of watch-frames.ts and the streams of response-stream.ts.

/** Keeps what it made for as long as the first of the frames lives; of several that begin with it the last. */
export class SharedFrames {
  readonly #make: (frames: readonly Uint8Array[]) => Uint8Array;
  readonly #made = new WeakMap<Uint8Array, { readonly frames: readonly Uint8Array[]; readonly bytes: Uint8Array }>();

  constructor(make: (frames: readonly Uint8Array[]) => Uint8Array) {
    this.#make = make;
  }

  /** Of one frame at least. Shared: do not write into it. */
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
