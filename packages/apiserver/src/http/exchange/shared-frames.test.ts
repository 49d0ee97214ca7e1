import { expect, it } from 'vitest';
import { SharedFrames } from './shared-frames.ts';

const [a, b, c] = ['a', 'b', 'c'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];

function counted() {
  let made = 0;
  const shared = new SharedFrames((frames) => {
    made += 1;
    return Buffer.concat(frames);
  });
  return { shared, made: () => made };
}

it('makes the bytes of equal rows of frames once', () => {
  const { shared, made } = counted();
  const bytes = shared.of([a, b]);
  expect(String(bytes)).toBe('ab');
  expect(shared.of([a, b])).toBe(bytes);
  expect(made()).toBe(1);
});

it.each([
  ['more of them', [a, b], [a, b, c], 'abc'],
  ['less of them', [a, b], [a], 'a'],
  ['another behind the first', [a, b], [a, c], 'ac'],
  ['another first', [a, b], [b, a], 'ba'],
  ['equal bytes that are another frame', [a, b], [a, Buffer.from('b')], 'ab'],
])('makes those of other rows anew: %s', (_what, before, frames, expected) => {
  const { shared, made } = counted();
  shared.of(before);
  expect(String(shared.of(frames))).toBe(expected);
  expect(made()).toBe(2);
});

it('keeps rows that begin differently beside each other', () => {
  const { shared, made } = counted();
  for (let turn = 0; turn < 3; turn++)
    for (const frames of [
      [a, c],
      [b, c],
    ])
      shared.of(frames);
  expect(made()).toBe(2);
});
