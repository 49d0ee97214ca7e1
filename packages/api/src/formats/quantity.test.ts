import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { parseQuantity, quantityOf } from './quantity.ts';

describe('parseQuantity', () => {
  it.each([
    ['0', '0'],
    ['0.0', '0'],
    ['-0', '0'],
    ['000', '0'],
    ['1', '1'],
    ['100m', '100m'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['0.5', '500m'],
    ['.5', '500m'],
    ['1.', '1.'],
    ['1.500', '1.500'],
    ['+5Ki', '+5Ki'],
    ['1.5', '1500m'],
    ['-1.5', '-1500m'],
    ['100.001', '100.001'],
    ['1000', '1k'],
    ['1000k', '1M'],
    ['12345678', '12345678'],
    ['10M', '10M'],
    ['1000000E', '1000000E'],
    ['1e3', '1e3'],
    ['1E3', '1E3'],
    ['1e4', '10e3'],
    ['100e-1', '10'],
    ['1e-9', '1e-9'],
    ['0.3n', '1n'],
    ['0.0000000001', '1n'],
    ['-0.0000000001', '-1n'],
    ['1Ki', '1Ki'],
    ['1024Ki', '1Mi'],
    ['1024Mi', '1Gi'],
    ['8Ki', '8Ki'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['0.5Mi', '512Ki'],
    ['0.0001Ki', '102400u'],
    ['1.1Ki', '1126400m'],
    ['16Ei', '9223372036854775807'],
    ['-8Ei', '-9223372036854775807'],
    ['9223372036854775808', '9223372036854775808'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    ['10000000000000000000000', '10000E'],
  ])('prints %s as %s', (text, canonical) => {
    expect(parseQuantity(text).toString()).toBe(canonical);
    expect(parseQuantity(canonical).compare(parseQuantity(text))).toBe(0);
  });

  it.each([
    ['', /^quantities must match the regular expression/],
    ['ten', /^quantities must match/],
    ['1 ', /^quantities must match/],
    ['1.2.3', /^quantities must match/],
    ['--1', /^unable to parse quantity's suffix$/],
    ['1kk', /^unable to parse quantity's suffix$/],
    ['1K', /^unable to parse quantity's suffix$/],
    ['1mi', /^unable to parse quantity's suffix$/],
    ['1e', /^unable to parse quantity's suffix$/],
    ['1k3', /^unable to parse quantity's suffix$/],
    ['1e999999999999', /^unable to parse quantity's suffix$/],
  ])('refuses %j', (text, message) => {
    expect(() => parseQuantity(text)).toThrow(message);
  });
});

describe('Quantity', () => {
  it('compares across formats', () => {
    const order = ['-1', '0', '1n', '999m', '1', '1001m', '1k', '1Ki', '1e6', '1Mi'].map(parseQuantity);
    for (const [i, a] of order.entries()) {
      for (const [j, b] of order.entries()) expect(a.compare(b)).toBe(Math.sign(i - j));
    }
    expect(parseQuantity('1').compare(parseQuantity('1000m'))).toBe(0);
  });

  it('adds and subtracts exactly, in the format of the first that is not 0', () => {
    const sum = (a: string, b: string) => parseQuantity(a).add(parseQuantity(b)).toString();
    expect(sum('1Gi', '1Mi')).toBe('1025Mi');
    expect(sum('100m', '0.9')).toBe('1');
    expect(sum('0', '1Gi')).toBe('1Gi');
    expect(sum('9223372036854775807', '1')).toBe('9223372036854775808');
    expect(parseQuantity('1').subtract(parseQuantity('1500m')).toString()).toBe('-500m');
    expect(quantityOf(2048, 'BinarySI').subtract(parseQuantity('1Ki')).toString()).toBe('1Ki');
  });

  it('gives whole and scaled values rounded away from zero', () => {
    expect(parseQuantity('1001m').scaledValue()).toBe(2n);
    expect(parseQuantity('-1001m').scaledValue()).toBe(-2n);
    expect(parseQuantity('1.5').scaledValue(-3)).toBe(1500n);
    expect(parseQuantity('1Gi').toNumber()).toBe(2 ** 30);
    expect(parseQuantity('250m').toNumber()).toBe(0.25);
    expect([parseQuantity('-1').sign, parseQuantity('0').sign, parseQuantity('1n').sign]).toEqual([-1, 0, 1]);
  });

  it('is its text in JSON', () => {
    expect(JSON.stringify({ cpu: parseQuantity('0.1') })).toBe('{"cpu":"100m"}');
  });
});

describe('an amount of any exponent', () => {
  it.each([
    ['1e99999', '1e99999'],
    ['1e2147483647', '10e2147483646'],
    ['1e1000', '10e999'],
    ['0e99999', '0'],
    ['1e-999999', '1e-9'],
    ['-1e-2147483647', '-1e-9'],
    ['0e-2147483647', '0'],
  ])('prints %s as %s', (text, canonical) => {
    expect(parseQuantity(text).toString()).toBe(canonical);
  });

  it.each(['1e2147483648', '1e4294967296', '1e-2147483648', '1e9223372036854775808'])('refuses %s', (text) => {
    expect(() => parseQuantity(text)).toThrow("unable to parse quantity's suffix");
  });

  it('compares, adds and rounds without writing all digits out', () => {
    const huge = '1e2147483647';
    const order = [`-${huge}`, '-1e99999', '-1', '0', '1n', '1e2000', '1e2001', '1e99999', '2e99999', huge];
    const amounts = order.map(parseQuantity);
    for (const [i, a] of amounts.entries()) {
      for (const [j, b] of amounts.entries()) expect(a.compare(b)).toBe(Math.sign(i - j));
    }
    const [big, small] = [parseQuantity(huge), parseQuantity('1n')];
    expect(big.add(small).toString()).toBe('10e2147483646');
    expect(small.subtract(big).compare(parseQuantity('-1e2147483646'))).toBe(-1);
    expect(big.subtract(big).toString()).toBe('0');
    expect(parseQuantity('1Ki').add(big).toString()).toBe('10e2147483646');
    expect(big.roundedUp(-3)).toBe(big);
    expect(big.scaledValue(-3) % 1000n).toBe(0n);
    expect(big.toNumber()).toBe(Number.POSITIVE_INFINITY);
  });

  it('keeps two thousand digits of a sum', () => {
    let sum = parseQuantity('1');
    for (let exponent = 100; exponent <= 20_000; exponent += 100) sum = sum.add(parseQuantity(`1e${exponent}`));
    expect(sum.toString().length).toBeLessThan(3_100);
    expect(sum.compare(parseQuantity('1e20000'))).toBe(1);
  });
});

describe('an amount of many digits', () => {
  it('has at most a thousand of them', () => {
    const most = '7'.repeat(1_000);
    expect(parseQuantity(most).toString()).toBe(most);
    expect(parseQuantity(`${'0'.repeat(100_000)}1`).compare(quantityOf(1))).toBe(0);
    for (const text of [`${most}7`, `${most}.7`, `.${'0'.repeat(1_000)}1`, '7'.repeat(1_000_000)]) {
      expect(() => parseQuantity(text)).toThrow('unable to parse numeric part of quantity');
    }
  });

  it('is refused in one look at each character, wherever the fault is', () => {
    for (const fill of ['0', '1', '.0', 'E', '1E']) {
      const text = `${fill.repeat(500_000)}x`;
      expect(() => parseQuantity(text)).toThrow(/^quantities must match/);
    }
  });
});

describe('an amount that was read before', () => {
  it('is the same amount, also when thousands of others were read since', () => {
    const first = parseQuantity('128Mi');
    expect(parseQuantity('128Mi')).toBe(first);
    for (let index = 0; index < 5_000; index++) parseQuantity(`${index}m`);
    expect(parseQuantity('128Mi')).not.toBe(first);
    expect(parseQuantity('128Mi').compare(first)).toBe(0);
    expect(parseQuantity('4999m').toString()).toBe('4999m');
  });

  it('holds on to nothing of the text that it was cut from', () => {
    const usedBefore = usedBytes();
    for (let index = 0; index < 40; index++) {
      for (const length of [12, 13, 20]) parseQuantity(cutFrom(500_000, String(10 ** (length - 1) + index)));
    }
    expect(usedBytes() - usedBefore).toBeLessThan(5_000_000);
  });
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function usedBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Returns the text as a slice of a longer one, which V8 does not copy. */
function cutFrom(bytes: number, text: string): string {
  const body = Buffer.alloc(bytes, 'x').toString() + text;
  // Reading by index makes the text contiguous.
  expect(body.charCodeAt(0)).toBe(120);
  return body.slice(bytes);
}
