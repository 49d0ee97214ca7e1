// The claims of a JSON Web Token before its signature is checked. They decide which authenticator checks it. A long token is read in
// slices, once for all authenticators. Used by jwt/ and by the tokens of service accounts.
import { ExactNumber } from '@kapstan/api';
import { isJsonObject, JsonSyntaxError, type SlicedWork } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { MaybePromise } from '../registry/definition/first-decision.ts';
import { readJsonText } from '../schema/json-reader.ts';

/** Claims by name; JSON. */
export type Claims = Readonly<Record<string, unknown>>;

/** Longer tokens are read in slices. */
const longToken = 64 * 1024;

interface LongToken {
  readonly claims: Claims | undefined;
  readers: number;
}

/** Long tokens that are being checked. */
const longTokens = new Map<string, LongToken>();

/** Returns the claims of a token in compact form; undefined for another text. */
export function unverifiedClaims(token: string): Claims | undefined {
  const known = token.length > longToken ? longTokens.get(token) : undefined;
  if (known !== undefined) return known.claims;
  const payload = payloadOf(token);
  if (payload === undefined) return undefined;
  try {
    return asClaims(JSON.parse(payload));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Calls back with the claims of a long token read, so that reading them takes no time. */
export function withClaimsRead<T>(token: string, use: () => MaybePromise<T>): MaybePromise<T> {
  return token.length > longToken ? readFirst(token, use) : use();
}

async function readFirst<T>(token: string, use: () => MaybePromise<T>): Promise<T> {
  const entry = longTokens.get(token) ?? { claims: await runInTurns(readClaims(token)), readers: 0 };
  longTokens.set(token, entry);
  entry.readers += 1;
  try {
    return await use();
  } finally {
    entry.readers -= 1;
    if (entry.readers === 0) longTokens.delete(token);
  }
}

function* readClaims(token: string): SlicedWork<Claims | undefined> {
  const payload = payloadOf(token);
  if (payload === undefined) return undefined;
  try {
    return asClaims((yield* readJsonText(payload)).value);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

function payloadOf(token: string): string | undefined {
  const [, payload = '', signature, ...more] = token.split('.', 4);
  if (signature === undefined || more.length > 0) return undefined;
  return Buffer.from(payload, 'base64url').toString();
}

function asClaims(value: unknown): Claims | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** Returns the number of a JSON value, however many digits it has; undefined for another value. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return value instanceof ExactNumber ? Number(value.text) : undefined;
}
