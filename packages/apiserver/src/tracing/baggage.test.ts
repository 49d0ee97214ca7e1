import { expect, it } from 'vitest';
import { baggageOf } from './baggage.ts';

it.each([
  [['a=1'], 'a=1'],
  [['a=1;secret;ttl=5, b = x%20y', 'c='], 'a=1;secret;ttl=5, b = x%20y,c='],
  [[], undefined],
  [[''], undefined],
  [['a'], undefined],
  [['a=1,,b=2'], undefined],
  [['a=1,b=x y'], undefined],
  [['a b=1'], undefined],
  [['a="1"'], undefined],
  [[`a=${'x'.repeat(8190)}`], `a=${'x'.repeat(8190)}`],
  [[`a=${'x'.repeat(8191)}`], undefined],
  [[Array.from({ length: 180 }, () => 'a=1').join()], Array.from({ length: 180 }, () => 'a=1').join()],
  [[Array.from({ length: 181 }, () => 'a=1').join()], undefined],
])('baggage %j is passed on as %j', (lines, passedOn) => {
  expect(baggageOf(lines)).toBe(passedOn);
});
