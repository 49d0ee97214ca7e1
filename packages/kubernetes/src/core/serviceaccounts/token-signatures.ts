// TokenSignatures returns the claims of a service account's token if one of our keys signed it. Used by
// service-account-tokens.ts and secret-tokens.ts. It uses jose for JSON Web Tokens. Source: pkg/serviceaccount/jwt.go
// (1.36).
import { goQuote } from '@kapstan/api/internal';
import { unverifiedClaims } from '@kapstan/apiserver/internal';
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

/** Number of tokens remembered as correctly signed, so that their signatures are checked once. */
const maxRemembered = 1024;

export class TokenSignatures {
  /** Keys by id. */
  readonly #keys: ReadonlyMap<string, VerificationKey>;
  readonly #verified = new Map<string, SignedClaims>();

  constructor(keys: readonly VerificationKey[]) {
    this.#keys = new Map(keys.map((key) => [key.id, key]));
  }

  /** Returns each key once, in the order given. */
  get keys(): readonly VerificationKey[] {
    return [...this.#keys.values()];
  }

  /** Returns the claims, or the reason why the token is invalid. */
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

  /**
   * Checks with the key that the token names, or with each key in turn when it names none. Source:
   * StaticPublicKeysGetter.
   */
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

/** Reads the claim "iss" from text that may be a token, before its signature is checked. */
export function issuerOf(token: string): unknown {
  return unverifiedClaims(token)?.iss;
}

/** Returns the audiences of a token. */
export function audiencesOf({ aud = [] }: SignedClaims): readonly string[] {
  return typeof aud === 'string' ? [aud] : aud;
}

/** Returns the requested audiences that the token has, or an error when it has none of them. */
export function matchAudiences(forWhom: readonly string[], asked: readonly string[]): readonly string[] | string {
  const matching = forWhom.filter((audience) => asked.includes(audience));
  if (matching.length > 0) return matching;
  return `token audiences ${goTexts(forWhom)} is invalid for the target audiences ${goTexts(asked)}`;
}

/** Reads the key id of a token before its signature is checked. */
function keyIdOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Formats a list like Go's %q. */
function goTexts(texts: readonly string[]): string {
  return `[${texts.map((text) => goQuote(text)).join(' ')}]`;
}
