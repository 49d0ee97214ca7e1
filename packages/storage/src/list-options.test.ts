import { isBadRequest, type StatusError } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { encodeContinue } from './continue-token.ts';
import { type ListPosition, validateListOptions } from './list-options.ts';
import { predicate } from './testing/storage-fixture.ts';

const prefix = '/registry/pods/';
const token = (revision: number): string => encodeContinue(`${prefix}ns/a\u0000`, prefix, revision);

interface Call {
  readonly version?: string;
  readonly match?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly recursive?: boolean;
}

function positionOf(call: Call): ListPosition {
  return validateListOptions(prefix, {
    resourceVersion: call.version ?? '',
    resourceVersionMatch: (call.match ?? '') as '',
    recursive: call.recursive ?? true,
    predicate: predicate({ limit: call.limit ?? 0, continue: call.continue ?? '' }),
  });
}

// Cases vary resourceVersion, resourceVersionMatch and continue token.
describe('options of a list', () => {
  it.each<[Call, number]>([
    [{}, 0],
    [{ limit: 5 }, 0],
    [{ version: '0' }, 0],
    [{ version: '0', limit: 5 }, 0],
    [{ version: '7' }, 0],
    [{ version: '7', limit: 5 }, 7],
    [{ version: '7', limit: 5, recursive: false }, 0],
    [{ version: '7', match: 'NotOlderThan' }, 0],
    [{ version: '7', match: 'NotOlderThan', limit: 5 }, 0],
    [{ version: '7', match: 'Exact' }, 7],
    [{ version: '7', match: 'Exact', limit: 5 }, 7],
    [{ version: '7', match: 'Exact', recursive: false }, 7],
  ])('%j pin the revision %i', (call, pinned) => {
    expect(positionOf(call)).toEqual({ pinned, asked: String(pinned) });
  });

  it('take revision and key of a continue token; -1 is the newest; version "0" is allowed beside it', () => {
    const fromKey = `${prefix}ns/a\u0000`;
    expect(positionOf({ continue: token(9) })).toEqual({ pinned: 9, asked: '9', fromKey });
    expect(positionOf({ continue: token(9), version: '0' })).toEqual({ pinned: 9, asked: '9', fromKey });
    expect(positionOf({ continue: token(-1) })).toEqual({ pinned: 0, asked: '-1', fromKey });
  });

  it('ignore the token of a list of one key', () => {
    expect(positionOf({ continue: '%%', version: '7', recursive: false })).toEqual({ pinned: 0, asked: '0' });
  });

  it.each<[Call, RegExp]>([
    [{ continue: '%%' }, /^invalid continue token: /],
    [{ continue: token(0) }, /^invalid continue token: .*incorrect encoded start resourceVersion/],
    [{ continue: token(9), version: '7' }, /^specifying resource version is not allowed when using continue$/],
    [{ version: 'x' }, /^invalid resource version: /],
    [{ version: '-1', match: 'Exact' }, /^invalid resource version: /],
  ])('refuse %j with 400', (call, message) => {
    const refuse = (): unknown => positionOf(call);
    expect(refuse).toThrow(expect.toSatisfy(isBadRequest));
    expect(refuse).toThrow(message);
  });

  it('refuse a match that nobody knows, with an error that is not the fault of the request', () => {
    expect(() => positionOf({ version: '7', match: 'Newer' })).toThrow(
      expect.toSatisfy(
        (error: StatusError) => error.code === 500 && error.message === 'unknown ResourceVersionMatch value: Newer',
      ),
    );
  });
});
