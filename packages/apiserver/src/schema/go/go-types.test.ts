import { describe, expect, it, vi } from 'vitest';
import { checkBase64 } from './go-types.ts';

describe('checkBase64', () => {
  it.each([
    ['', undefined],
    ['\r\n', undefined],
    ['YQ==', undefined],
    ['Y\nQ\n=\r\n=\n', undefined],
    ['YWI=', undefined],
    ['YQ=', 3],
    ['YQ=\n', 4],
    ['YQ=x', 3],
    ['YWI==', 4],
    ['YWJj\n=', 5],
    ['YWI', 0],
    ['YW\nI', 1],
    ['YWé', 2],
  ])('%j', (text, at) => {
    expect(checkBase64(text)).toBe(at === undefined ? undefined : `illegal base64 data at input byte ${at}`);
  });

  it('copies no text to count its line breaks', () => {
    const replace = vi.spyOn(String.prototype, 'replace');
    checkBase64('\n'.repeat(1_000));
    const calls = replace.mock.calls.length;
    replace.mockRestore();
    expect(calls).toBe(0);
  });
});
