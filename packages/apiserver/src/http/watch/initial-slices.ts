// InitialSlices joins initial events of a watch into the bytes of one write, made once for all watches that send the
// same ones at about the same time: clients that reconnect after a restart all read the same list. Used by
// watch-response.ts.
import type { CancelTimer, Clock } from '@kapstan/api';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import type { StoredObject } from '../answer/encodings.ts';

/** The properties, besides the objects, on which the frames of added objects depend. */
export interface FrameForm {
  readonly definition: ResourceDefinition;
  /** Forms with equal names make equal frames for the same definition. */
  readonly name: string;
}

export interface InitialSlice {
  /** The objects in the order in which they are sent; at least one. */
  readonly objects: readonly StoredObject[];
  /** Length of each object's frame in bytes. */
  readonly lengths: readonly number[];
  /** All frames, joined. They are shared, so do not write into them. */
  readonly bytes: Uint8Array;
}

interface KeptSlice extends InitialSlice {
  readonly form: FrameForm;
}

/** Maximum number of bytes of kept slices. A slice that is written over HTTP/1.1 is kept a second time, as a chunk. */
const maxBytes = 8 * 1_048_576;
/** Watches that start within this time of each other share slices. */
const keptMs = 5_000;

export class InitialSlices {
  readonly #clock: Clock;
  readonly #byName = new Map<string, Map<StoredObject, KeptSlice>>();
  /** Kept slices, the oldest first. */
  readonly #kept = new Set<KeptSlice>();
  #bytes = 0;
  #cancelTimer: CancelTimer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Bytes of the slices kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the slice made last that begins with this object. */
  beginningWith(first: StoredObject, { definition, name }: FrameForm): InitialSlice | undefined {
    const slice = this.#byName.get(name)?.get(first);
    return slice?.form.definition === definition ? slice : undefined;
  }

  /** Keeps the slice for a few seconds. It replaces the one that begins with the same object. */
  keep(form: FrameForm, slice: InitialSlice): void {
    const slices = this.#byName.get(form.name) ?? new Map<StoredObject, KeptSlice>();
    this.#byName.set(form.name, slices);
    const first = slice.objects[0] as StoredObject;
    const replaced = slices.get(first);
    if (replaced !== undefined) this.#forget(replaced);
    const kept = { ...slice, form };
    slices.set(first, kept);
    this.#kept.add(kept);
    this.#bytes += slice.bytes.length;
    for (const oldest of this.#kept) {
      if (this.#bytes <= maxBytes) break;
      this.#forget(oldest);
    }
    this.#cancelTimer ??= this.#clock.setBackgroundTimer(() => this.clear(), keptMs);
  }

  #forget(slice: KeptSlice): void {
    this.#kept.delete(slice);
    this.#byName.get(slice.form.name)?.delete(slice.objects[0] as StoredObject);
    this.#bytes -= slice.bytes.length;
  }

  /** Drops all slices and stops the timer. */
  clear(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#byName.clear();
    this.#kept.clear();
    this.#bytes = 0;
  }
}
