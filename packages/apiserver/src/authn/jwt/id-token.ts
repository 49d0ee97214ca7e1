// A JSON Web Token as an issuer sends it: its claims before and after they are trusted, and the checks of issuer, audience
// and time. Used by jwt-authenticators.ts and issuer-verifier.ts. Source: oidc.go (untrustedIssuer), go-oidc verify.go.
import { formatTime } from '@kapstan/api';
import { goQuote, isJsonObject } from '@kapstan/api/internal';
import { type Claims, numberOf, unverifiedClaims } from '../token-claims.ts';

/** The reason for which a token is refused, in kube-apiserver's words. No message contains the token. */
export class TokenError extends Error {
  override readonly name = 'TokenError';
}

/** A token whose signature has not been checked. */
export interface UnverifiedToken {
  readonly text: string;
  /** The claim "iss". */
  readonly issuer: string;
  readonly claims: Claims;
}

const googleIssuer = 'https://accounts.google.com';
const googleIssuerWithoutScheme = 'accounts.google.com';

/** Reads a token without checking its signature. Returns undefined for a token of another form. */
export function readToken(text: string): UnverifiedToken | undefined {
  const parts = text.split('.', 4);
  const payload = parts[1] ?? '';
  if (parts.length !== 3 || !isBase64Url(payload) || text.trimStart().startsWith('{')) return undefined;
  const claims = unverifiedClaims(text);
  if (claims === undefined) return undefined;
  const { iss = '' } = claims;
  if (typeof iss !== 'string') return undefined;
  return { text, issuer: iss === googleIssuerWithoutScheme ? googleIssuer : iss, claims };
}

function isBase64Url(text: string): boolean {
  return text.length % 4 !== 1 && /^[A-Za-z0-9_-]*$/.test(text);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export interface TokenHeader {
  readonly alg: string;
  /** "" = the token names no key. */
  readonly kid: string;
}

/** Reads the header of a token. Throws TokenError for a malformed one. */
export function readHeader(text: string): TokenHeader {
  const encoded = text.slice(0, text.indexOf('.'));
  const header = isBase64Url(encoded) ? parsed(Buffer.from(encoded, 'base64url').toString('utf8')) : undefined;
  if (!isJsonObject(header)) throw new TokenError('oidc: malformed jwt: the header is no JSON object');
  const { alg, kid = '' } = header;
  if (typeof alg !== 'string' || typeof kid !== 'string') {
    throw new TokenError('oidc: malformed jwt: the header has no text as alg or kid');
  }
  return { alg, kid };
}

/** Returns Go's name of the type of a JSON value, as errors of its decoder show it. */
function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  if (numberOf(value) !== undefined) return 'number';
  return typeof value;
}

/** Returns a claim that must be a text; null counts as "". Throws TokenError for another type, with Go's text. */
export function textClaim(claims: Claims, name: string): string {
  if (!Object.hasOwn(claims, name)) throw new TokenError('claim not present');
  const value = claims[name] ?? '';
  if (typeof value !== 'string') throw unmarshalError(value, 'value of type string');
  return value;
}

/** Returns a claim that must be a bool; null counts as false. */
export function booleanClaim(claims: Claims, name: string): boolean {
  const value = claims[name] ?? false;
  if (typeof value !== 'boolean') throw unmarshalError(value, 'value of type bool');
  return value;
}

/** Returns a claim that must be a text or a list of texts; null counts as "" in a list, and as an empty list. */
export function textsClaim(claims: Claims, name: string): readonly string[] {
  const value = claims[name] ?? [];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) throw unmarshalError(value, 'value of type string');
  return value.map((item: unknown) => {
    const text = item ?? '';
    if (typeof text !== 'string') throw unmarshalError(value, 'value of type string');
    return text;
  });
}

function unmarshalError(value: unknown, target: string): TokenError {
  return new TokenError(`json: cannot unmarshal ${jsonTypeOf(value)} into Go ${target}`);
}

export interface TokenExpectation {
  readonly issuer: string;
  /** Audiences of which the token must have one. */
  readonly audiences: readonly string[];
  readonly nowMs: number;
}

/** Tolerance for clocks that differ, when a token is not valid yet. */
const notBeforeLeewayMs = 60_000;

/** Checks the claims of a token whose signature is valid. Throws TokenError. */
export function checkClaims(claims: Claims, { issuer, audiences, nowMs }: TokenExpectation): void {
  const registered = registeredClaims(claims);
  const isGoogle = issuer === googleIssuer && registered.iss === googleIssuerWithoutScheme;
  if (registered.iss !== issuer && !isGoogle) {
    const [expected, got] = [goQuote(issuer), goQuote(registered.iss)];
    throw new TokenError(`oidc: id token issued by a different provider, expected ${expected} got ${got}`);
  }
  if (audiences.length === 1) checkAudience(registered.aud, audiences);
  if (registered.exp * 1000 < nowMs) {
    throw new TokenError(`oidc: token is expired (Token Expiry: ${goTime(registered.exp * 1000)})`);
  }
  const { nbf } = registered;
  if (nbf !== undefined && nowMs + notBeforeLeewayMs < nbf * 1000) {
    const [now, start] = [goTime(nowMs), goTime(nbf * 1000)];
    throw new TokenError(`oidc: current time ${now} before the nbf (not before) time: ${start}`);
  }
  if (audiences.length !== 1) checkAudience(registered.aud, audiences);
}

function checkAudience(audience: readonly string[], expected: readonly string[]): void {
  if (expected.some((name) => audience.includes(name))) return;
  const got = quoted(audience);
  const wanted = expected.length === 1 ? goQuote(expected[0] ?? '') : `in ${quoted([...expected].sort())}`;
  throw new TokenError(`oidc: expected audience ${wanted} got ${got}`);
}

export function quoted(texts: readonly string[]): string {
  return `[${texts.map((text) => goQuote(text)).join(' ')}]`;
}

/** Go's zero time, which a token without an expiry has. */
const zeroTime = -62_135_596_800;

/** Returns a time as Go prints it. */
function goTime(ms: number): string {
  const isShown = Math.abs(ms) <= 8.64e15;
  return isShown ? `${formatTime(ms).replace('T', ' ').replace('Z', '')} +0000 UTC` : `${ms / 1000}`;
}

interface RegisteredClaims {
  readonly iss: string;
  readonly aud: readonly string[];
  /** Seconds. */
  readonly exp: number;
  readonly nbf: number | undefined;
}

/** Reads the claims that every token may have. Throws TokenError for one of the wrong type. */
function registeredClaims(claims: Claims): RegisteredClaims {
  for (const name of ['sub', 'nonce', 'at_hash']) textMember(claims, name);
  secondsMember(claims, 'iat');
  checkSources(claims);
  return {
    iss: textMember(claims, 'iss'),
    aud: audienceMember(claims),
    exp: secondsMember(claims, 'exp') ?? zeroTime,
    nbf: claims.nbf === null ? undefined : secondsMember(claims, 'nbf'),
  };
}

function fieldError(value: unknown, name: string, type: string): TokenError {
  const why = `json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field idToken.${name} of type ${type}`;
  return new TokenError(`oidc: failed to unmarshal claims: ${why}`);
}

function textMember(claims: Claims, name: string): string {
  const value = claims[name] ?? '';
  if (typeof value !== 'string') throw fieldError(value, name, 'string');
  return value;
}

function audienceMember({ aud }: Claims): readonly string[] {
  if (aud === null || aud === undefined) return aud === null ? [''] : [];
  if (typeof aud === 'string') return [aud];
  if (!Array.isArray(aud)) throw fieldError(aud, 'aud', '[]string');
  const wrong: unknown = aud.find((item: unknown) => item !== null && typeof item !== 'string');
  if (wrong !== undefined) throw fieldError(wrong, 'aud', 'string');
  return aud.map((item: unknown) => String(item ?? ''));
}

function secondsMember(claims: Claims, name: string): number | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (value === undefined) return undefined;
  const seconds = numberOf(value);
  if (seconds !== undefined) return Math.trunc(seconds);
  throw new TokenError(`oidc: failed to unmarshal claims: ${numberFault(value)}`);
}

function numberFault(value: unknown): string {
  if (value === null) return 'strconv.ParseFloat: parsing "": invalid syntax';
  if (typeof value === 'string') {
    return `json: invalid number literal, trying to unmarshal ${goQuote(JSON.stringify(value))} into Number`;
  }
  return `json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type json.Number`;
}

/** Each claim that is kept elsewhere must have a source. */
function checkSources({ _claim_names: names = {}, _claim_sources: sources = {} }: Claims): void {
  if (names !== null && !isJsonObject(names)) throw fieldError(names, '_claim_names', 'map[string]string');
  if (sources !== null && !isJsonObject(sources)) {
    throw fieldError(sources, '_claim_sources', 'map[string]oidc.claimSource');
  }
  for (const source of Object.values(names ?? {})) {
    const name = source ?? '';
    if (typeof name !== 'string') throw fieldError(name, '_claim_names', 'string');
    if (name === '') throw new TokenError('oidc: failed to obtain source from claim name');
    if (!Object.hasOwn(sources ?? {}, name)) throw new TokenError('oidc: source does not exist');
  }
}
