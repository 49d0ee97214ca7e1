// RemoteKeySet: the public keys of an issuer. Keys are fetched when a token needs an unknown one. Waiting requests
// share one fetch, and there is a pause between fetches. It uses jose for signatures. Source: go-oidc jwks.go.
import { createHash } from 'node:crypto';
import type { Clock } from '@kapstan/api';
import { isJsonObject, messageOf } from '@kapstan/api/internal';
import { type CryptoKey, compactVerify, errors, importJWK, type JWK } from 'jose';
import { readHeader, TokenError } from './id-token.ts';
import { freshUntil, type IssuerFetch, jsonOf } from './issuer-fetch.ts';

export interface KeySetOptions {
  readonly url: string;
  readonly fetch: IssuerFetch;
  readonly clock: Clock;
  /** Called after each fetch; with the hash of the document if it was a key set. */
  readonly onFetch: (hash: string | undefined) => void;
}

/** Keys are fetched again this long before they go stale. */
const expiryDeltaMs = 30_000;
/**
 * Minimum time between the starts of two fetches, so that tokens with made-up key ids do not become a load for the issuer.
 */
const fetchPauseMs = 1_000;

interface PublicKey {
  readonly kid: string;
  readonly jwk: JWK;
  /** Imported forms of the key, by algorithm. */
  readonly imported: Map<string, CryptoKey>;
}

export class RemoteKeySet {
  readonly #options: KeySetOptions;
  #keys: readonly PublicKey[] = [];
  #freshUntilMs = Number.NEGATIVE_INFINITY;
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;

  constructor(options: KeySetOptions) {
    this.#options = options;
  }

  /** Resolves when one of the keys signed the token. Rejects with TokenError otherwise. */
  async verify(token: string): Promise<void> {
    if (await this.#isSigned(token)) return;
    // Keys that the issuer declared fresh are not fetched again, whatever key a token names.
    if (this.#options.clock.now() + expiryDeltaMs < this.#freshUntilMs) throw notVerified();
    await this.#refresh();
    if (!(await this.#isSigned(token))) throw notVerified();
  }

  async #isSigned(token: string): Promise<boolean> {
    const { alg, kid } = readHeader(token);
    for (const key of this.#keys) {
      if (kid !== '' && key.kid !== kid) continue;
      if (await isSignedBy(token, alg, key)) return true;
    }
    return false;
  }

  #refresh(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    const { url, fetch, clock, onFetch } = this.#options;
    await this.#pause();
    this.#fetchedAtMs = clock.monotonicNow();
    try {
      const startedMs = clock.now();
      const answer = await fetch.get(url).catch((error: unknown) => {
        throw new TokenError(`oidc: get keys failed ${messageOf(error)}`, { cause: error });
      });
      if (answer.code !== 200) throw new TokenError(`oidc: get keys failed: ${answer.statusText}`);
      this.#keys = keysOf(answer);
      this.#freshUntilMs = freshUntil(answer, startedMs);
      onFetch(`sha256:${createHash('sha256').update(answer.body).digest('hex')}`);
    } catch (error) {
      onFetch(undefined);
      throw new TokenError(`failed to verify signature: fetching keys ${messageOf(error)}`, { cause: error });
    }
  }

  #pause(): Promise<void> | undefined {
    const { clock } = this.#options;
    const leftMs = this.#fetchedAtMs + fetchPauseMs - clock.monotonicNow();
    if (leftMs <= 0) return undefined;
    return new Promise((resolve) => void clock.setBackgroundTimer(resolve, leftMs));
  }
}

function notVerified(): TokenError {
  return new TokenError('failed to verify signature: failed to verify id token signature');
}

/** Returns the usable keys of a set. Keys of other types are skipped: an issuer may publish them for other clients. */
function keysOf(answer: Parameters<typeof jsonOf>[0]): readonly PublicKey[] {
  let document: unknown;
  try {
    document = jsonOf(answer);
  } catch (error) {
    throw new TokenError(`oidc: failed to decode keys: ${messageOf(error)}`, { cause: error });
  }
  const { keys } = isJsonObject(document) ? document : {};
  if (!Array.isArray(keys)) throw new TokenError('oidc: failed to decode keys: the document has no list of keys');
  return keys.flatMap((key: unknown) => {
    const jwk = publicPart(key);
    const { kid } = isJsonObject(key) ? key : {};
    return jwk === undefined ? [] : [{ jwk, kid: typeof kid === 'string' ? kid : '', imported: new Map() }];
  });
}

/** Copies the numbers that form a public key. Its declared use and algorithm do not count, as in kube-apiserver. */
function publicPart(key: unknown): JWK | undefined {
  if (!isJsonObject(key)) return undefined;
  const { kty, n, e, crv, x, y } = key;
  if (kty === 'RSA' && typeof n === 'string' && typeof e === 'string') return { kty, n, e };
  const isPoint = typeof crv === 'string' && typeof x === 'string' && typeof y === 'string';
  return kty === 'EC' && isPoint ? { kty, crv, x, y } : undefined;
}

const curveOf: ReadonlyMap<string, string> = new Map([
  ['ES256', 'P-256'],
  ['ES384', 'P-384'],
  ['ES512', 'P-521'],
]);

async function isSignedBy(token: string, alg: string, key: PublicKey): Promise<boolean> {
  const curve = curveOf.get(alg);
  const fits = curve === undefined ? key.jwk.kty === 'RSA' : key.jwk.kty === 'EC' && key.jwk.crv === curve;
  if (!fits) return false;
  try {
    const imported = key.imported.get(alg) ?? ((await importJWK(key.jwk, alg)) as CryptoKey);
    key.imported.set(alg, imported);
    await compactVerify(token, imported, { algorithms: [alg] });
    return true;
  } catch (error) {
    // A key that is damaged or too short signs nothing.
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException) return false;
    throw error;
  }
}
