// TokenSignatures: what is in a token of a service account, once one of our keys is found to have signed it. Used by
// service-account-tokens.ts and secret-tokens.ts. JSON Web Tokens by jose. Source: pkg/serviceaccount/jwt.go (1.36).
import { goQuote, isJsonObject } from '@kapstan/api/internal';
import { type CompactVerifyResult, compactVerify, decodeProtectedHeader, errors } from 'jose';
import type { KubernetesClaims } from '../../builtin/token-issuer.ts';
import type { VerificationKey } from './signing-key.ts';

export interface SignedClaims {
  readonly aud?: string | readonly string[];
  readonly exp?: number;
  readonly iat?: number;
  readonly nbf?: number;
  readonly jti?: string;
  readonly sub?: string;
  readonly 'kubernetes.io'?: KubernetesClaims;
}

/** Tokens whose signature was found good, so that it need not be looked at again. */
const maxRemembered = 1024;

export class TokenSignatures {
  /** By key id. */
  readonly #keys: ReadonlyMap<string, VerificationKey>;
  readonly #verified = new Map<string, SignedClaims>();

  constructor(keys: readonly VerificationKey[]) {
    this.#keys = new Map(keys.map((key) => [key.id, key]));
  }

  /** In the order in which they were given, each once. */
  get keys(): readonly VerificationKey[] {
    return [...this.#keys.values()];
  }

  /** The claims, or why the token is no good. */
  async verify(token: string): Promise<SignedClaims | string> {
    const known = this.#verified.get(token);
    if (known !== undefined) return known;
    try {
      const { payload } = await this.#checkSignature(token);
      const claims = JSON.parse(Buffer.from(payload).toString()) as SignedClaims;
      const [oldest] = this.#verified.keys();
      if (oldest !== undefined && this.#verified.size >= maxRemembered) this.#verified.delete(oldest);
      this.#verified.set(token, claims);
      return claims;
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof SyntaxError)
        return 'the signature of the token is not valid';
      throw error;
    }
  }

  /** By the key that the token names, or by each in turn where it names none. Source: StaticPublicKeysGetter. */
  async #checkSignature(token: string): Promise<CompactVerifyResult> {
    const kid = keyIdOf(token);
    const candidates = kid === undefined ? this.keys : [this.#keys.get(kid)];
    for (const key of candidates) {
      if (key === undefined) continue;
      try {
        return await compactVerify(token, key.publicKey, { algorithms: [key.algorithm] });
      } catch (error) {
        if (!(error instanceof errors.JOSEError)) throw error;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** The claim "iss" of something that may be a token, before anything in it is believed. */
export function issuerOf(token: string): unknown {
  const [, payload = '', signature, ...more] = token.split('.');
  if (signature === undefined || more.length > 0) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return isJsonObject(claims) ? claims.iss : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** For whom a token is: one or several. */
export function audiencesOf({ aud = [] }: SignedClaims): readonly string[] {
  return typeof aud === 'string' ? [aud] : aud;
}

/** Which of those asked for a token is for, or why it is for none of them. */
export function matchAudiences(forWhom: readonly string[], asked: readonly string[]): readonly string[] | string {
  const matching = forWhom.filter((audience) => asked.includes(audience));
  if (matching.length > 0) return matching;
  return `token audiences ${goTexts(forWhom)} is invalid for the target audiences ${goTexts(asked)}`;
}

/** The key that a token names, before anything in it is believed. */
function keyIdOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Go's %q of a list. */
function goTexts(texts: readonly string[]): string {
  return `[${texts.map((text) => goQuote(text)).join(' ')}]`;
}
