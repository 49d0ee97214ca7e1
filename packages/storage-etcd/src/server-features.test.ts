import { describe, expect, it } from 'vitest';
import { hasProgressRequests } from './server-features.ts';

describe('hasProgressRequests', () => {
  it.each([
    ['3.3.27', false],
    ['3.4.30', false],
    ['3.4.31', true],
    ['3.5.0', false],
    ['3.5.12', false],
    ['3.5.13', true],
    ['3.6.0-rc.1', true],
    ['3.6.7', true],
    ['4.0.0', true],
    ['', false],
    ['unknown', false],
  ])('version %j: %s', (version, expected) => {
    expect(hasProgressRequests(version)).toBe(expected);
  });
});
