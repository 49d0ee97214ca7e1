import { expect, it } from 'vitest';
import { isLatest } from './image-name.ts';

const digest = `sha256:${'0'.repeat(64)}`;

// Recorded from a kube-apiserver 1.36.
it.each([
  ['nginx', true],
  ['nginx:latest', true],
  ['nginx:1.27', false],
  ['registry.example:5000/nginx', true],
  ['registry.example:5000/nginx:1', false],
  ['localhost/x', true],
  ['EX.com/x', true],
  ['a__b', true],
  [`nginx@${digest}`, false],
  [`nginx:latest@${digest}`, true],
])('%s is pulled always: %s', (image, expected) => {
  expect(isLatest(image)).toBe(expected);
});

it.each([
  '',
  'A_b',
  '-x',
  'a b',
  'x:',
  'x:lat est',
  'a..b',
  'a___b',
  'nginx:latest@sha256:00',
  '0'.repeat(64),
  `a${'-'.repeat(100_000)}`,
])('%s is no image, and so has no tag', (image) => {
  expect(isLatest(image)).toBe(false);
});
