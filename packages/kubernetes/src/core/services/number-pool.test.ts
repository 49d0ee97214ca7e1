import { describe, expect, it } from 'vitest';
import { parseIpv4, parseIpv4Network, printIpv4 } from './ipv4.ts';
import { NumberPool } from './number-pool.ts';

describe('a pool of numbers', () => {
  it('hands out what is not reserved first, each once, then the rest, then nothing', () => {
    const pool = new NumberPool({ first: 10, size: 5, reserved: 2 });
    // Starts in the middle of each band.
    const given = Array.from({ length: 6 }, () => pool.takeAny(() => 0.5));
    expect(given).toEqual([13, 14, 12, 11, 10, undefined]);
  });

  it.each([
    { taken: [], base64: '' },
    { taken: [30_000], base64: 'AQ==' },
    { taken: [30_007, 30_008], base64: 'AYA=' },
    // Written by a kube-apiserver, with the most significant byte first.
    { taken: [30_001, 30_022], base64: 'QAAC' },
  ])('is written as the bytes of one number: $taken', ({ taken, base64 }) => {
    const range = { first: 30_000, size: 100, reserved: 16 };
    expect(new NumberPool(range, [...taken, 29_999, 30_100]).format()).toBe(base64);
    expect(NumberPool.parse(range, base64).values()).toEqual(taken);
  });

  it('gives a number that was asked for to the first alone, and again after its release', () => {
    const pool = new NumberPool({ first: 1, size: 3, reserved: 0 });
    expect([pool.take(2), pool.take(2)]).toEqual([true, false]);
    pool.release(2);
    expect(pool.take(2)).toBe(true);
    expect([pool.contains(0), pool.contains(3), pool.contains(4)]).toEqual([false, true, false]);
  });
});

describe('IPv4', () => {
  it('addresses are numbers and back', () => {
    expect(printIpv4(parseIpv4('255.1.2.3')!)).toBe('255.1.2.3');
    expect(parseIpv4('None')).toBeUndefined();
  });

  it('networks begin at their own address', () => {
    expect(parseIpv4Network('10.96.7.1/12')).toEqual({ first: parseIpv4('10.96.0.0'), size: 2 ** 20 });
    expect(() => parseIpv4Network('10.0.0.0/31')).toThrow(TypeError);
    expect(() => parseIpv4Network('fd00::/108')).toThrow(TypeError);
  });
});
