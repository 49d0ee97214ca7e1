// Shuffle sharding deals each flow a few of the queues. When a flow fills its queues, most other flows still have some free ones. Used by
// priority-level.ts. Source: util/shufflesharding.
import { createHash } from 'node:crypto';

/** Maximum number of bits of the hash that may decide about a hand. Source: shufflesharding.MaxHashBits. */
const maxHashBits = 60;

/** Returns whether a hash has enough bits to deal hands of this size. */
export function isDealable(deckSize: number, handSize: number): boolean {
  if (handSize < 1 || deckSize < handSize || deckSize > 2 ** 26) return false;
  return Math.ceil(Math.log2(deckSize) * handSize) <= maxHashBits;
}

/** Returns the numbers of the queues that are dealt to a flow, each in [0, deckSize) and all different. */
export function dealHand(deckSize: number, handSize: number, hash: bigint): readonly number[] {
  let rest = hash;
  const hand: number[] = [];
  for (let dealt = 0; dealt < handSize; dealt++) {
    const left = BigInt(deckSize - dealt);
    hand.push(Number(rest % left));
    rest /= left;
  }
  // Each remainder is an index among the cards still in the deck: earlier cards are skipped, starting with the last
  // one.
  for (let card = handSize - 1; card > 0; card--) {
    let number = hand[card] ?? 0;
    for (let before = card - 1; before >= 0; before--) if (number >= (hand[before] ?? 0)) number++;
    hand[card] = number;
  }
  return hand;
}

/** Returns the hash of a flow, made from the name of its schema and its distinguisher. */
export function hashFlow(schemaName: string, distinguisher: string): bigint {
  return createHash('sha256').update(`${schemaName}\0${distinguisher}`).digest().readBigUInt64LE(0);
}
