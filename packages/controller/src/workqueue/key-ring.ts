// KeyRing: distinct keys in order of arrival. queue-order.ts uses it for waiting keys. A Map or Set of a million keys
// spends most of its time on distant memory, twice per key, and on moving its contents as it grows.
import { randomBytes } from 'node:crypto';

const leastSlots = 64;
/** Fraction of slots that may be taken before the table is rebuilt. */
const fullness = 3 / 4;
/** Numbers of keys are kept in 32 bits. */
const greatestNumber = 2 ** 30;
/** Marks a slot that was never used, in place of a number. */
const empty = -1;

// Users choose the names that become keys, so nobody may be able to predict which of them share a slot.
const secret = new Int32Array(Uint8Array.from(randomBytes(8)).buffer);
const seed = secret[0] as number;
const multiplier = (secret[1] as number) | 1;

const float = new Float64Array(1);
const halves = new Int32Array(float.buffer);

/**
 * Keys are strings or numbers, compared with ===. Memory: proportional to its keys, at times four times as much; little
 * once it is empty.
 *
 * Each key gets the next number; `#head` is the number of the first key still here. The table maps a key to its number,
 * and the number's last bits give its place in the ring. A number below `#head` in the table belongs to a key that has
 * left, so taking a key out does not touch the table.
 */
export class KeyRing<K> {
  /** Hash and number of each key alternately. A key is in the slot of its hash, or in the first free one after it. */
  #slots: Int32Array = emptySlots(leastSlots);
  #slotMask: number = leastSlots - 1;
  /** Number of slots that are not empty, including slots of keys that have left. */
  #taken = 0;
  /** Keys by the last bits of their number. */
  #keys: (K | undefined)[] = new Array(leastSlots);
  #keyMask: number = leastSlots - 1;
  #head: number;
  #tail: number;

  /** `firstNumber` is the number of the first key. Default 0. */
  constructor(firstNumber = 0) {
    this.#head = firstNumber;
    this.#tail = firstNumber;
  }

  get size(): number {
    return this.#tail - this.#head;
  }

  /** The oldest key; undefined when empty. */
  get first(): K | undefined {
    return this.#keys[this.#head & this.#keyMask];
  }

  /** Adds a key at the end; returns false when it is there. Atomic: table and ring change together. */
  add(key: K): boolean {
    const slots = this.#slots;
    const mask = this.#slotMask;
    const hash = hashOf(key);
    let free = empty;
    let slot = hash & mask;
    for (let number = slots[2 * slot + 1] as number; number !== empty; number = slots[2 * slot + 1] as number) {
      if (number < this.#head) {
        if (free === empty) free = slot;
      } else if (slots[2 * slot] === hash && this.#keys[number & this.#keyMask] === key) return false;
      slot = (slot + 1) & mask;
    }
    if (free === empty) {
      free = slot;
      this.#taken++;
    }
    slots[2 * free] = hash;
    slots[2 * free + 1] = this.#tail;
    this.#append(key);
    if (this.#taken > fullness * mask || this.#tail > greatestNumber) this.#makeAnew();
    return true;
  }

  /** Takes the oldest key out; undefined when empty. */
  take(): K | undefined {
    if (this.#head === this.#tail) return undefined;
    const index = this.#head & this.#keyMask;
    const key = this.#keys[index];
    this.#keys[index] = undefined;
    this.#head++;
    if (this.#head === this.#tail && this.#slotMask >= leastSlots) this.#makeAnew();
    return key;
  }

  #append(key: K): void {
    if (this.size > this.#keyMask) this.#moveKeys(2 * this.size);
    this.#keys[this.#tail & this.#keyMask] = key;
    this.#tail++;
  }

  /** Rebuilds table and ring without keys that have left, at the size that the others need. */
  #makeAnew(): void {
    const old = this.#slots;
    const count = powerOfTwo(2 * this.size);
    const slots = this.size === 0 && count === old.length / 2 ? old.fill(empty) : emptySlots(count);
    const mask = count - 1;
    const head = this.#head;
    // Numbers start again at one that leads to the same places.
    const base = head & ~this.#keyMask;
    for (let index = 0; slots !== old && index < old.length; index += 2) {
      const number = old[index + 1] as number;
      if (number < head) continue;
      let slot = (old[index] as number) & mask;
      while (slots[2 * slot + 1] !== empty) slot = (slot + 1) & mask;
      slots[2 * slot] = old[index] as number;
      slots[2 * slot + 1] = number - base;
    }
    this.#head -= base;
    this.#tail -= base;
    this.#slots = slots;
    this.#slotMask = mask;
    this.#taken = this.size;
    if (this.#keyMask >= 4 * count) this.#moveKeys(count);
  }

  #moveKeys(atLeast: number): void {
    const count = powerOfTwo(atLeast);
    const keys: (K | undefined)[] = new Array(count);
    for (let number = this.#head; number < this.#tail; number++)
      keys[number & (count - 1)] = this.#keys[number & this.#keyMask];
    this.#keys = keys;
    this.#keyMask = count - 1;
  }
}

function emptySlots(count: number): Int32Array {
  return new Int32Array(2 * count).fill(empty);
}

function powerOfTwo(atLeast: number): number {
  let count = leastSlots;
  while (count < atLeast) count *= 2;
  return count;
}

function hashOf(key: unknown): number {
  let hash = seed;
  if (typeof key === 'string') {
    for (let index = 0; index < key.length; index++) hash = mixed(hash, key.charCodeAt(index));
  } else {
    // -0 and 0 are the same key.
    float[0] = (key as number) + 0;
    hash = mixed(mixed(hash, halves[0] as number), halves[1] as number);
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier);
  return hash ^ (hash >>> 16);
}

function mixed(hash: number, part: number): number {
  const product = Math.imul(hash ^ part, multiplier);
  return product ^ (product >>> 15);
}
