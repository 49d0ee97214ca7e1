// DistributedClaims fetches a claim that is elsewhere: the token names a source, which answers with another token that
// has the claim. Only the claim of groups may be elsewhere, as in kube-apiserver. Source: oidc.go (claimResolver).
import { goQuote, isJsonObject, messageOf } from '@kapstan/api/internal';
import type { Claims } from '../token-claims.ts';
import { readToken, TokenError } from './id-token.ts';
import { IssuerVerifier, type VerifierOptions } from './issuer-verifier.ts';

/** Maximum number of issuers of such claims that are remembered; tokens of the main issuer name them. */
const maxIssuers = 16;

export type DistributedClaimsOptions = Omit<VerifierOptions, 'issuer' | 'discoveryUrl' | 'onFetchKeys'> & {
  /** The claim that may be elsewhere. */
  readonly claim: string;
};

export class DistributedClaims {
  readonly #options: DistributedClaimsOptions;
  /** Entries by issuer, the most recently used last. */
  readonly #verifiers = new Map<string, IssuerVerifier>();

  constructor(options: DistributedClaimsOptions) {
    this.#options = options;
  }

  /**
   * Returns the claims together with a claim that is kept elsewhere, if the token refers to one. Rejects with
   * TokenError.
   */
  async expand(claims: Claims): Promise<Claims> {
    const { claim } = this.#options;
    const source = sourceOf(claims, claim);
    return source === undefined ? claims : { ...claims, [claim]: await this.#fetch(source) };
  }

  close(): void {
    for (const verifier of this.#verifiers.values()) verifier.close();
  }

  async #fetch({ endpoint, accessToken }: ClaimSource): Promise<unknown> {
    const { claim, fetch } = this.#options;
    const failed = `while getting distributed claim ${goQuote(claim)}`;
    const authorization = accessToken === '' ? '' : `Bearer ${accessToken}`;
    const answer = await fetch.get(endpoint, authorization).catch((error: unknown) => {
      throw new TokenError(`${failed}: ${messageOf(error)}`, { cause: error });
    });
    if (answer.code < 200 || answer.code > 226) {
      throw new TokenError(`${failed}: error while getting distributed claim JWT: ${answer.statusText}`);
    }
    const token = readToken(answer.body);
    if (token === undefined) {
      throw new TokenError(
        `getting untrusted issuer from endpoint ${endpoint} failed for claim ${goQuote(claim)}: malformed token`,
      );
    }
    await this.#verify(token.issuer, token.text, token.claims);
    if (Object.hasOwn(token.claims, claim)) return token.claims[claim];
    throw new TokenError(
      `jwt returned by distributed claim endpoint ${goQuote(endpoint)} did not contain claim: ${claim}`,
    );
  }

  async #verify(issuer: string, token: string, claims: Claims): Promise<void> {
    const verifier = this.#verifierOf(issuer);
    if (verifier.failure !== undefined) {
      throw new TokenError(
        `verifying untrusted issuer ${issuer} failed: verifier not initialized for issuer: ${goQuote(issuer)}`,
      );
    }
    await verifier.verify(token, claims).catch((error: unknown) => {
      throw error instanceof TokenError
        ? new TokenError(`verify distributed claim token: ${error.message}`, { cause: error })
        : error;
    });
  }

  /** Starts to fetch the keys of a new issuer, so the first token that names it is refused. */
  #verifierOf(issuer: string): IssuerVerifier {
    const known = this.#verifiers.get(issuer);
    const verifier = known ?? this.#newVerifier(issuer);
    this.#verifiers.delete(issuer);
    this.#verifiers.set(issuer, verifier);
    return verifier;
  }

  #newVerifier(issuer: string): IssuerVerifier {
    if (this.#verifiers.size >= maxIssuers) this.#forgetOne();
    const verifier = new IssuerVerifier({ ...this.#options, issuer, discoveryUrl: '', onFetchKeys: () => undefined });
    verifier.start();
    return verifier;
  }

  /** Sources may name issuers that do not exist; these must not displace the ones that answer. */
  #forgetOne(): void {
    const all = [...this.#verifiers];
    const [issuer, verifier] = all.find(([, { failure }]) => failure !== undefined) ?? (all[0] as (typeof all)[0]);
    this.#verifiers.delete(issuer);
    verifier.close();
  }
}

interface ClaimSource {
  readonly endpoint: string;
  readonly accessToken: string;
}

/** Returns the place of the claim; undefined when it is in the token, or does not exist. */
function sourceOf(claims: Claims, claim: string): ClaimSource | undefined {
  if (Object.hasOwn(claims, claim) || !Object.hasOwn(claims, '_claim_names')) return undefined;
  const { _claim_names: names, _claim_sources: sources } = claims;
  if (!Object.hasOwn(claims, '_claim_sources')) throw new TokenError('oidc: no claim sources');
  const name = isJsonObject(names) && Object.hasOwn(names, claim) ? names[claim] : undefined;
  if (typeof name !== 'string') return undefined;
  const source = isJsonObject(sources) && Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (!isJsonObject(source)) {
    throw new TokenError(`id token _claim_names contained a source ${name} missing in _claims_sources`);
  }
  const { endpoint, access_token: accessToken } = source;
  // A source without an endpoint holds an aggregated claim, which is not supported there either.
  if (typeof endpoint !== 'string' || endpoint === '') return undefined;
  return { endpoint, accessToken: typeof accessToken === 'string' ? accessToken : '' };
}
