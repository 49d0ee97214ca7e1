import { describe, expect, it } from 'vitest';
import { dealHand, hashFlow, isDealable } from './shuffle-sharding.ts';

// Recorded from k8s.io/apiserver 0.36.3, Dealer.DealIntoHand.
const recorded: readonly [deck: number, size: number, hash: bigint, hand: readonly number[]][] = [
  [128, 6, 0n, [0, 1, 2, 3, 4, 5]],
  [128, 6, 1n, [1, 0, 2, 3, 4, 5]],
  [128, 6, 12345678901234567n, [7, 14, 94, 102, 22, 65]],
  [128, 6, 18446744073709551615n, [127, 1, 7, 56, 91, 6]],
  [64, 6, 12345678901234567n, [7, 22, 1, 35, 53, 54]],
  [64, 6, 18446744073709551615n, [63, 15, 55, 23, 31, 2]],
  [16, 4, 12345678901234567n, [7, 0, 1, 6]],
  [16, 4, 18446744073709551615n, [15, 0, 8, 7]],
  [4, 2, 12345678901234567n, [3, 1]],
  [512, 3, 18446744073709551615n, [511, 1, 127]],
];

describe('shuffle sharding', () => {
  it.each(recorded)('deals from %i queues %i to the hash %i as Kubernetes does', (deck, size, hash, hand) => {
    expect(dealHand(deck, size, hash)).toEqual(hand);
  });

  it('hashes a flow as Kubernetes does', () => {
    expect(hashFlow('global-default', 'alice')).toBe(17644606172554983095n);
  });

  it('gives different users different hands', () => {
    const hands = new Set(Array.from({ length: 200 }, (_, i) => dealHand(128, 6, hashFlow('s', `user-${i}`)).join()));
    expect(hands.size).toBe(200);
  });

  it.each([
    [128, 6, true],
    [64, 10, true],
    [64, 11, false],
    [2, 3, false],
    [2, 0, false],
    [10_000_000, 2, true],
    [2 ** 26 + 1, 1, false],
  ])('of %i queues in hands of %i is possible: %s', (deck, size, isPossible) => {
    expect(isDealable(deck, size)).toBe(isPossible);
  });
});
