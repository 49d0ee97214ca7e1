// Continue tokens of paged lists, byte for byte the same as kube-apiserver's. continue-fields.ts reads the contents of
// a token. Source: apiserver storage/continue.go.

import type { Revision, StatusError } from '@kapstan/api';
import { badRequest, expired } from '@kapstan/api/errors';
import { JsonSyntaxError, parseRevision, readDecimal } from '@kapstan/api/internal';
import { JsonFieldError, readContinueFields } from './continue-fields.ts';
import { keyAfter } from './key-range.ts';

const version = 'meta.k8s.io/v1';
const invalid = 'continue key is not valid: ';

/** The position at which a list continues. */
export interface ContinuePosition {
  /** First key to read. */
  readonly fromKey: string;
  /**
   * Revision at which the list is read. 0 = the newest: the token in a 410 answer has -1, and its list is inconsistent.
   */
  readonly revision: Revision;
  /** The revision as written in the token, which may be too long for a number. */
  readonly asked: string;
}

/**
 * Returns a token that continues at `fromKey`. The stored start begins with a slash when the prefix ends without one,
 * because kube-apiserver's cache and its store differ in that. Throws TypeError when the key is not under the prefix.
 */
export function encodeContinue(fromKey: string, prefix: string, revision: number): string {
  if (!fromKey.startsWith(prefix)) {
    throw new TypeError('unable to encode next field: the key and key prefix do not match');
  }
  const text = goJson({ v: version, rv: revision, start: fromKey.slice(prefix.length) });
  return Buffer.from(text, 'utf8').toString('base64url');
}

/** Reads a token. `prefix` ends with a slash. Throws a 400 StatusError. */
export function decodeContinue(token: string, prefix: string): ContinuePosition {
  const { v, rv, start } = fieldsOf(token);
  if (v !== version) throw badToken(`server does not recognize this encoded version ${v}`);
  if (readDecimal(rv) === 0n) throw badToken(`incorrect encoded start resourceVersion (version ${version})`);
  if (start === '') throw badToken(`encoded start key empty (version ${version})`);
  const path = start.startsWith('/') ? start : `/${start}`;
  if (!isCleanPath(path)) throw badToken(start);
  return { fromKey: prefix + path.slice(1), revision: parseRevision(rv) ?? (0 as Revision), asked: rv };
}

/**
 * Returns a 410 for a list whose revision is compacted. With a position, its token continues at the newest revision.
 */
export function listExpired(position?: { readonly fromKey: string; readonly prefix: string }): StatusError {
  if (position === undefined) return expired('The resourceVersion for the provided list is too old.');
  return expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
      'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
      'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
      'deleted between the time the first chunk was returned and now may show up in the list.',
    encodeContinue(position.fromKey, position.prefix, -1),
  );
}

function fieldsOf(token: string): ReturnType<typeof readContinueFields> {
  const fault = base64Fault(token);
  if (fault !== undefined) throw badToken(`illegal base64 data at input byte ${fault}`);
  try {
    return readContinueFields(Buffer.from(token, 'base64url'));
  } catch (error) {
    if (error instanceof JsonFieldError || error instanceof JsonSyntaxError) throw badToken(error.message);
    throw error;
  }
}

/** Returns the index at which Go's RawURLEncoding stops, or undefined. Buffer skips characters that are not base64. */
function base64Fault(token: string): number | undefined {
  const foreign = token.search(/[^A-Za-z0-9_-]/);
  if (foreign >= 0) return foreign;
  return token.length % 4 === 1 ? token.length - 1 : undefined;
}

function badToken(why: string): StatusError {
  return badRequest(`invalid continue token: ${invalid}${why}`);
}

/** Returns true when Go's path.Clean would not change the path; a client must not climb out of the prefix. */
function isCleanPath(path: string): boolean {
  if (path === '/') return true;
  return path
    .slice(1)
    .split('/')
    .every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

/** Escapes the five characters that Go's encoding/json escapes. */
function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The end of a page, from which its token and the remaining count are made. */
export interface PageEnd {
  /** Last key that was examined, whether or not it matched. */
  readonly lastKey: string;
  readonly prefix: string;
  readonly revision: Revision;
  readonly limit: number;
  /** Number of keys from the start of this page to the end of the range. */
  readonly count: number;
  /** True when nothing was filtered out, so that the rest can be counted. */
  readonly everything: boolean;
}

/** Returns the token and, if known, the remaining count of a page that is not the last. */
export function nextPage(end: PageEnd): { readonly continue: string; readonly remainingItemCount?: number } {
  const token = encodeContinue(keyAfter(end.lastKey), end.prefix, end.revision);
  return end.everything ? { continue: token, remainingItemCount: end.count - end.limit } : { continue: token };
}
