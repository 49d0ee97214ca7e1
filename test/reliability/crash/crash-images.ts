// Makes images of the data file as a crash could leave it: synced data are there, and any part of later writes may be.
// Built from system-calls.ts; opened by crash-images.test.ts.
import type { SystemCall } from './system-calls.ts';

export interface CrashImage {
  /** Content of the disk. */
  readonly bytes: Buffer;
  /** True once the mark of a new store is gone. */
  readonly isMade: boolean;
  /** Lines that the program had printed before. */
  readonly said: readonly string[];
  /** The point in the trace, and the amount of unsynced data that is there. */
  readonly name: string;
}

type Write = Extract<SystemCall, { type: 'write' }>;

const sectorBytes = 512;
/** Chances that an unsynced write is there. */
const chances = [0, 0.5, 0.9, 1] as const;

/**
 * Yields images at random points of the run. At each point, the writes since the last sync are complete, cut, or
 * absent.
 */
export function* crashImages(calls: readonly SystemCall[], count: number, random: () => number): Generator<CrashImage> {
  const moments = [...new Set(calls.flatMap(({ began, ended }) => [began, ended]))].sort((a, b) => a - b);
  const disk = new Disk(calls);
  const chosen = Array.from({ length: count }, () => moments[Math.floor(random() * moments.length)] as number);
  for (const moment of chosen.sort((a, b) => a - b)) {
    disk.advance(moment);
    if (disk.isEmpty) continue;
    const chance = chances[Math.floor(random() * chances.length)] as number;
    const bytes = disk.image(chance, random);
    yield {
      bytes,
      isMade: disk.isMade,
      said: disk.said,
      name: `line ${moment}, ${disk.pendingCount} writes not synced, chance ${chance}`,
    };
  }
}

/** The disk at a moment: the parts that are certainly there, and those that may be. */
class Disk {
  readonly said: string[] = [];
  isMade = false;
  readonly #ends: readonly SystemCall[];
  readonly #begins: readonly Write[];
  #certain: Buffer = Buffer.alloc(0);
  #pending: Write[] = [];
  #nextEnd = 0;
  #nextBegin = 0;

  constructor(calls: readonly SystemCall[]) {
    this.#ends = [...calls].sort((a, b) => a.ended - b.ended);
    this.#begins = calls.filter((call) => call.type === 'write').sort((a, b) => a.began - b.began);
  }

  get pendingCount(): number {
    return this.#pending.length;
  }

  /** True before the file was created. */
  get isEmpty(): boolean {
    return this.#certain.length === 0 && this.#pending.length === 0;
  }

  /** Advances to the moment: adds the writes that began by then, and applies the calls that ended by then. */
  advance(moment: number): void {
    for (;;) {
      const begin = this.#begins[this.#nextBegin];
      const end = this.#ends[this.#nextEnd];
      if (begin !== undefined && begin.began <= Math.min(moment, end?.ended ?? moment)) {
        this.#pending.push(begin);
        this.#nextBegin += 1;
      } else if (end !== undefined && end.ended <= moment) {
        this.#onEnd(end);
        this.#nextEnd += 1;
      } else return;
    }
  }

  /** Returns the certain part, and each uncertain write with this chance; one in four of those is cut. */
  image(chance: number, random: () => number): Buffer {
    let image: Buffer = Buffer.from(this.#certain);
    for (const { offset, bytes } of this.#pending) {
      if (random() >= chance) continue;
      const sectors = Math.ceil(bytes.length / sectorBytes);
      const kept = random() < 0.25 ? Math.floor(random() * sectors) * sectorBytes : bytes.length;
      image = written(image, offset, bytes.subarray(0, kept));
    }
    return image;
  }

  #onEnd(call: SystemCall): void {
    if (call.type === 'said') this.said.push(call.line);
    else if (call.type === 'made') this.isMade = true;
    else if (call.type === 'sync') this.#settle(({ ended }) => ended <= call.began);
    else if (call.isSynchronous) this.#settle((write) => write === call);
  }

  #settle(isCertain: (write: Write) => boolean): void {
    for (const write of this.#pending.filter(isCertain)) {
      this.#certain = written(this.#certain, write.offset, write.bytes);
    }
    this.#pending = this.#pending.filter((write) => !isCertain(write));
  }
}

function written(file: Buffer, offset: number, bytes: Buffer): Buffer {
  const end = offset + bytes.length;
  const grown = end > file.length ? Buffer.concat([file, Buffer.alloc(end - file.length)]) : file;
  bytes.copy(grown, offset);
  return grown;
}
