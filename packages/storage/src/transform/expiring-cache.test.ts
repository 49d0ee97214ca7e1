import { VirtualClock } from '@kapstan/api/testing';
import { expect, it } from 'vitest';
import { ExpiringCache } from './expiring-cache.ts';

it('forgets an entry some time after it was last set', async () => {
  const clock = new VirtualClock();
  const cache = new ExpiringCache<number>(clock, 1_000);
  cache.set('a', 1);
  await clock.advance(999);
  expect(cache.get('a')).toBe(1);
  cache.set('a', 2);
  await clock.advance(999);
  expect(cache.get('a'), 'reading does not prolong, setting does').toBe(2);
  await clock.advance(1);
  expect(cache.get('a')).toBeUndefined();
});

it('gives the memory of what is forgotten back when something is set', async () => {
  const clock = new VirtualClock();
  const cache = new ExpiringCache<number>(clock, 1_000);
  for (let i = 0; i < 100; i++) cache.set(`old ${i}`, i);
  await clock.advance(500);
  cache.set('old 7', 7);
  cache.set('young', 1);
  await clock.advance(500);
  cache.set('new', 2);
  expect(cache.size).toBe(3);
  expect([cache.get('old 7'), cache.get('old 8'), cache.get('young')]).toEqual([7, undefined, 1]);
});

it('distinguishes any two keys, and forgets one on demand', () => {
  const cache = new ExpiringCache<number>(new VirtualClock(), 1_000);
  for (const [value, key] of ['', 'a', '__proto__', 'constructor'].entries()) cache.set(key, value);
  expect(['', 'a', '__proto__', 'constructor', 'toString'].map((key) => cache.get(key))).toEqual([
    0,
    1,
    2,
    3,
    undefined,
  ]);
  cache.delete('__proto__');
  expect(cache.get('__proto__')).toBeUndefined();
  expect(cache.get('a')).toBe(1);
});
