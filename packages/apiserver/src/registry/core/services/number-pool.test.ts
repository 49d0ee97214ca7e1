import { describe, expect, it } from 'vitest';
import { parseIpv4, parseIpv4Network, printIpv4 } from './ipv4.ts';
import { NumberPool } from './number-pool.ts';

describe('a pool of numbers', () => {
  it('hands out what is not reserved first, each once, then the rest, then nothing', () => {
    const pool = new NumberPool({ first: 10, size: 4, reserved: 2 });
    expect([pool.takeAny(), pool.takeAny(), pool.takeAny(), pool.takeAny(), pool.takeAny()]).toEqual([
      12,
      13,
      10,
      11,
      undefined,
    ]);
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
