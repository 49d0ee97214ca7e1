// Continue tokens of paged lists, byte for byte those of kube-apiserver; what a token holds is read by continue-fields.ts.
// Source: apiserver storage/continue.go.

import type { Revision, StatusError } from '@kapstan/api';
import { badRequest, expired } from '@kapstan/api/errors';
import { JsonSyntaxError, parseRevision } from '@kapstan/api/internal';
import { JsonFieldError, readContinueFields } from './continue-fields.ts';
import { keyAfter } from './key-range.ts';

const version = 'meta.k8s.io/v1';
const invalid = 'continue key is not valid: ';

/** Where a list goes on. */
export interface ContinuePosition {
  /** First key to read. */
  readonly fromKey: string;
  /** Read at this revision; 0 = at the newest: the token of a 410 answer has -1, and its list is inconsistent. */
  readonly revision: Revision;
  /** The revision as the token has it: it may be too long for a number. */
  readonly asked: string;
}

/**
 * Token that goes on at `fromKey`. What it holds begins with a slash when the prefix ends without one: kube-apiserver's
 * cache and its store differ in that. Throws TypeError when the key does not lie under the prefix.
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
  if (BigInt(rv) === 0n) throw badToken(`incorrect encoded start resourceVersion (version ${version})`);
  if (start === '') throw badToken(`encoded start key empty (version ${version})`);
  const path = start.startsWith('/') ? start : `/${start}`;
  if (!isCleanPath(path)) throw badToken(start);
  return { fromKey: prefix + path.slice(1), revision: parseRevision(rv) ?? (0 as Revision), asked: rv };
}

/** 410 for a list whose revision is compacted; with a position, carries a token that goes on at the newest revision. */
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

/** Where Go's RawURLEncoding stops, or undefined. Buffer passes over what is not base64. */
function base64Fault(token: string): number | undefined {
  const foreign = token.search(/[^A-Za-z0-9_-]/);
  if (foreign >= 0) return foreign;
  return token.length % 4 === 1 ? token.length - 1 : undefined;
}

function badToken(why: string): StatusError {
  return badRequest(`invalid continue token: ${invalid}${why}`);
}

/** What Go's path.Clean would leave as it is: a client must not climb out of the prefix. */
function isCleanPath(path: string): boolean {
  if (path === '/') return true;
  return path
    .slice(1)
    .split('/')
    .every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

/** Go's encoding/json escapes these five. */
function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether there is a next page and what is known about the rest. */
export interface PageEnd {
  /** Last key that was looked at, whether it matched or not. */
  readonly lastKey: string;
  readonly prefix: string;
  readonly revision: Revision;
  readonly limit: number;
  /** Keys from the start of this page to the end of the range. */
  readonly count: number;
  /** Nothing was filtered out, so that the rest can be counted. */
  readonly everything: boolean;
}

/** Token and remaining count of a page that has a successor. */
export function nextPage(end: PageEnd): { readonly continue: string; readonly remainingItemCount?: number } {
  const token = encodeContinue(keyAfter(end.lastKey), end.prefix, end.revision);
  return end.everything ? { continue: token, remainingItemCount: end.count - end.limit } : { continue: token };
}
