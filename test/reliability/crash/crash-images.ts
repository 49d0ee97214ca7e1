// The data file as a crash could have left it: what was synced is there, of what was written since any part may be. From
// system-calls.ts; opened by crash-images.test.ts.
import type { SystemCall } from './system-calls.ts';

export interface CrashImage {
  /** What the disk holds. */
  readonly bytes: Buffer;
  /** Lines that the program had said before. */
  readonly said: readonly string[];
  /** Where in the trace, and how much of what was not synced is there. */
  readonly name: string;
}

type Write = Extract<SystemCall, { type: 'write' }>;

const sectorBytes = 512;
/** Chance that a write that was not synced is there. */
const chances = [0, 0.5, 0.9, 1] as const;

/** Images at random points of the run; at each point what was written since the last sync is there whole, cut, or not at all. */
export function* crashImages(calls: readonly SystemCall[], count: number, random: () => number): Generator<CrashImage> {
  const moments = [...new Set(calls.flatMap(({ began, ended }) => [began, ended]))].sort((a, b) => a - b);
  const disk = new Disk(calls);
  const chosen = Array.from({ length: count }, () => moments[Math.floor(random() * moments.length)] as number);
  for (const moment of chosen.sort((a, b) => a - b)) {
    disk.advance(moment);
    if (disk.isEmpty) continue;
    const chance = chances[Math.floor(random() * chances.length)] as number;
    const bytes = disk.image(chance, random);
    yield { bytes, said: disk.said, name: `line ${moment}, ${disk.pendingCount} writes not synced, chance ${chance}` };
  }
}

/** The disk at a moment: what is certainly there, and what may be. */
class Disk {
  readonly said: string[] = [];
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

  /** Before the file was made. */
  get isEmpty(): boolean {
    return this.#certain.length === 0 && this.#pending.length === 0;
  }

  /** Takes in what began before the moment, and what ended at or before it. */
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

  /** The certain part, and each write that may be there with this chance; one in four of those is cut. */
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
