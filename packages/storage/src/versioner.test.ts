import type { StatusError } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { listVersion, parseResourceVersion, requireNotOlder, revisionOf, withoutVersion } from './versioner.ts';

const thrownBy = (work: () => unknown): StatusError => {
  try {
    work();
  } catch (error) {
    return error as StatusError;
  }
  return expect.fail('did not throw');
};

describe('resource versions of storage', () => {
  it.each([
    ['', 0],
    ['0', 0],
    ['1', 1],
    ['10', 10],
  ])('reads %j as %i', (text, revision) => expect(parseResourceVersion(text)).toBe(revision));

  it.each(['-1', 'abc', ' 1', '1.5', '0x1'])('refuses %j in the words of Go', (text) => {
    const error = thrownBy(() => parseResourceVersion(text));
    const quoted = JSON.stringify(text);
    expect([error.code, error.message]).toEqual([
      500,
      `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`,
    ]);
  });

  it('reads the version of an object, 0 when it has none, and takes it off with the selfLink', () => {
    const object = { metadata: { name: 'a', resourceVersion: '5', selfLink: '/a' } };
    expect([revisionOf(object), revisionOf({ metadata: { name: 'a' } }), revisionOf({})]).toEqual([5, 0, 0]);
    expect(withoutVersion(object)).toEqual({ metadata: { name: 'a' } });
    expect(object.metadata.resourceVersion).toBe('5');
    expect(thrownBy(() => revisionOf({ metadata: { resourceVersion: 'x' } })).code).toBe(500);
  });

  it('gives a list a version above 0, and refuses to give it none', () => {
    expect(listVersion(7 as never)).toBe('7');
    expect(() => listVersion(0 as never)).toThrow('illegal resource version from storage: 0');
  });

  it('refuses a version above the present one with 504, one cause and the time to wait', () => {
    for (const asked of [undefined, '', '0', '4', '5']) expect(() => requireNotOlder(asked, 5 as never)).not.toThrow();
    const error = thrownBy(() => requireNotOlder('6', 5 as never, 1));
    expect([error.code, error.reason, error.message]).toEqual([
      504,
      'Timeout',
      'Timeout: Too large resource version: 6, current: 5',
    ]);
    expect(error.details).toMatchObject({
      retryAfterSeconds: 1,
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    });
  });
});
