// ServiceAccountTokens signs tokens of service accounts and accepts them as long as the objects that they are bound to
// exist. It uses jose for JSON Web Tokens. Source: pkg/serviceaccount/{jwt,claims}.go, openidmetadata.go (1.36).
import { randomUUID } from 'node:crypto';
import { type Clock, type DeepReadonly, parseTime, type UnstructuredObject } from '@kapstan/api';
import { goQuote } from '@kapstan/api/internal';
import type { ObjectReader, TokenAuthenticator, TokenResult, UserInfo } from '@kapstan/apiserver';
import { serviceAccountsGroup } from '@kapstan/apiserver/internal';
import { CompactSign } from 'jose';
import type { KubernetesClaims, TokenClaims, TokenIssuer } from '../../builtin/token-issuer.ts';
import { type SecretTokenClaims, type SecretTokenIssuer, secretTokenClaims } from './secret-tokens.ts';
import {
  makeSigningKey,
  readSigningKey,
  readVerificationKeys,
  type SigningKey,
  type VerificationKey,
  webKeyOf,
} from './signing-key.ts';
import { audiencesOf, issuerOf, matchAudiences, type SignedClaims, TokenSignatures } from './token-signatures.ts';

export interface ServiceAccountTokensOptions {
  /** The claim "iss", a URL. */
  readonly issuer: string;
  /** Issuers whose tokens are accepted too, if one of the keys signed them. Default none. */
  readonly otherIssuers?: readonly string[] | undefined;
  /** Audiences of tokens requested without any. A token for any of them is accepted here. */
  readonly apiAudiences: readonly string[];
  /**
   * Private key in PEM: RSA, or ECDSA on the curve P-256, P-384 or P-521. Absent = a new key, lost with this object.
   */
  readonly signingKey?: string | undefined;
  /**
   * Further keys in PEM, public or private, whose signatures are accepted too. Each text may contain several. Default
   * none.
   */
  readonly verificationKeys?: readonly string[] | undefined;
  /** Checks that accounts and bound objects still exist. */
  readonly reader: ObjectReader;
  readonly clock: Clock;
}

/** Tolerance for clocks that differ; an object deleted longer ago is gone. Source: jwt.DefaultLeeway. */
const leewaySeconds = 60;

/** Documents that other programs need to verify tokens. */
export interface IssuerDocuments {
  /**
   * Returns the document of `/.well-known/openid-configuration`. `origin`: the URL of this server, "https://host:port".
   */
  configuration(origin: string): Readonly<Record<string, unknown>>;
  /** Returns the document of {@link keySetPath}. */
  keySet(): Readonly<Record<string, unknown>>;
}

/** The path of the keys with which tokens of service accounts are checked. */
export const keySetPath = '/openid/v1/jwks';

/** Makes a key for `ServiceAccountTokensOptions.signingKey`. */
export function generateSigningKey(): string {
  return makeSigningKey().privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}

export class ServiceAccountTokens implements TokenIssuer, SecretTokenIssuer, TokenAuthenticator, IssuerDocuments {
  readonly apiAudiences: readonly string[];
  /** Signatures by all keys, starting with its own. */
  readonly signatures: TokenSignatures;
  readonly #options: ServiceAccountTokensOptions;
  readonly #signingKey: SigningKey;
  readonly #issuers: ReadonlySet<unknown>;

  /** Throws TypeError for a key that cannot be read or is of another kind. */
  constructor(options: ServiceAccountTokensOptions) {
    const { issuer, otherIssuers = [], verificationKeys = [] } = options;
    this.#options = options;
    this.apiAudiences = options.apiAudiences;
    this.#issuers = new Set([issuer, ...otherIssuers]);
    const { signingKey } = options;
    this.#signingKey = signingKey === undefined ? makeSigningKey() : readSigningKey(signingKey);
    const keys = [this.#signingKey.verification, ...verificationKeys.flatMap(readVerificationKeys)];
    this.signatures = new TokenSignatures(keys);
  }

  issue({ id = randomUUID(), audiences, issuedAt, expires, kubernetes }: TokenClaims): Promise<string> {
    const { namespace, serviceaccount } = kubernetes;
    const payload = {
      aud: audiences,
      exp: expires,
      iat: issuedAt,
      iss: this.#options.issuer,
      jti: id,
      'kubernetes.io': kubernetes,
      nbf: issuedAt,
      sub: userName(namespace, serviceaccount.name),
    };
    return this.#sign(payload);
  }

  issueForSecret(claims: SecretTokenClaims): Promise<string> {
    return this.#sign(secretTokenClaims(claims));
  }

  #sign(payload: Readonly<Record<string, unknown>>): Promise<string> {
    const { privateKey, verification } = this.#signingKey;
    return new CompactSign(Buffer.from(JSON.stringify(payload)))
      .setProtectedHeader({ alg: verification.algorithm, kid: verification.id })
      .sign(privateKey);
  }

  async authenticateToken(token: string, audiences: readonly string[]): Promise<TokenResult> {
    if (!this.#issuers.has(issuerOf(token))) return { type: 'unknown' };
    const claims = await this.signatures.verify(token);
    if (typeof claims === 'string') return { type: 'refused', error: claims };
    const matching = matchAudiences(audiencesOf(claims), audiences);
    if (typeof matching === 'string') return { type: 'refused', error: matching };
    const error = this.#timeError(claims) ?? (await this.#bindingError(claims['kubernetes.io']));
    if (error !== undefined) return { type: 'refused', error };
    return { type: 'accepted', user: userOf(claims), audiences: matching };
  }

  configuration(origin: string): Readonly<Record<string, unknown>> {
    return {
      issuer: this.#options.issuer,
      jwks_uri: `${origin}${keySetPath}`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...new Set(this.#all((key) => key.algorithm))].sort(),
    };
  }

  keySet(): Readonly<Record<string, unknown>> {
    return { keys: this.#all(webKeyOf) };
  }

  #all<T>(from: (key: VerificationKey) => T): T[] {
    return this.signatures.keys.map(from);
  }

  #timeError({ exp = 0, iat = 0, nbf = 0 }: SignedClaims): string | undefined {
    const now = this.#options.clock.now() / 1000;
    if (now - leewaySeconds > exp) return 'service account token has expired';
    if (now + leewaySeconds < nbf) return 'service account token is not valid yet';
    if (now + leewaySeconds < iat) return 'service account token is issued in the future';
    return undefined;
  }

  async #bindingError(claims: KubernetesClaims | undefined): Promise<string | undefined> {
    if (claims === undefined) return 'service account token claims could not be validated';
    const { namespace, serviceaccount, secret, pod, node } = claims;
    const account = await this.#find('serviceaccounts', namespace, serviceaccount);
    if (account === undefined) return `serviceaccounts ${goQuote(serviceaccount.name)} not found`;
    const uid = account.metadata?.uid ?? '';
    if (uid !== serviceaccount.uid) return `service account UID (${uid}) does not match claim (${serviceaccount.uid})`;
    if (this.#isGone(account)) return 'service account has been deleted';
    if (secret !== undefined) return this.#referenceError('secret', namespace, secret);
    if (pod !== undefined) return this.#referenceError('pod', namespace, pod);
    return node === undefined ? undefined : this.#referenceError('node', '', node);
  }

  async #referenceError(
    kind: 'secret' | 'pod' | 'node',
    namespace: string,
    reference: { readonly name: string; readonly uid: string },
  ): Promise<string | undefined> {
    const object = await this.#find(`${kind}s`, namespace, reference);
    const uid = object?.metadata?.uid ?? '';
    if (object !== undefined && uid !== reference.uid) {
      return `${kind} UID (${uid}) does not match service account ${kind} ref claim (${reference.uid})`;
    }
    return object === undefined || this.#isGone(object) ? 'service account token has been invalidated' : undefined;
  }

  /** Reads from the cache, and live when the cache does not have the object: an account may be newer than the cache. */
  async #find(
    resource: string,
    namespace: string,
    { name, uid }: { readonly name: string; readonly uid: string },
  ): Promise<DeepReadonly<UnstructuredObject> | undefined> {
    const { reader } = this.#options;
    const target = { namespace, name };
    const cached = await reader.get({ group: '', version: 'v1', resource }, target, 'cached');
    if (cached?.metadata?.uid === uid) return cached;
    return reader.get({ group: '', version: 'v1', resource }, target, 'live');
  }

  #isGone({ metadata }: DeepReadonly<UnstructuredObject>): boolean {
    const at = metadata?.deletionTimestamp;
    return at !== undefined && parseTime(at) < this.#options.clock.now() - leewaySeconds * 1000;
  }
}

function userName(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** Source: serviceaccount.ServiceAccountInfo.UserInfo. */
function userOf({ jti, 'kubernetes.io': claims }: SignedClaims): UserInfo {
  const { namespace = '', serviceaccount, pod, node } = claims ?? {};
  const extra = new Map<string, string>();
  if (pod !== undefined) extra.set('pod-name', pod.name).set('pod-uid', pod.uid);
  if (node !== undefined) extra.set('node-name', node.name);
  if (node?.uid) extra.set('node-uid', node.uid);
  if (jti) extra.set('credential-id', `JTI=${jti}`);
  return {
    name: userName(namespace, serviceaccount?.name ?? ''),
    uid: serviceaccount?.uid ?? '',
    groups: [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`],
    extra: Object.fromEntries([...extra].map(([key, value]) => [`authentication.kubernetes.io/${key}`, [value]])),
  };
}
