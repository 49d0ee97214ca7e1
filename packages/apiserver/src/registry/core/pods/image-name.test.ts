import { expect, it } from 'vitest';
import { isLatest } from './image-name.ts';

it.each([
  ['nginx', true],
  ['nginx:latest', true],
  ['nginx:1.27', false],
  ['registry.example:5000/nginx', true],
  ['registry.example:5000/nginx:1', false],
  ['nginx@sha256:00', false],
  ['nginx:latest@sha256:00', true],
])('%s is pulled always: %s', (image, expected) => {
  expect(isLatest(image)).toBe(expected);
});
