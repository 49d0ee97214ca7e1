// SecretTokens accepts service-account tokens kept in Secrets, which last as long as their Secret and account, and records in the Secret
// when its token was last used. See also service-account-tokens.ts. Source: pkg/serviceaccount/legacy.go.
import { timingSafeEqual } from 'node:crypto';
import { type Clock, type DeepReadonly, formatTime, type Logger, type ResourceClient } from '@kapstan/api';
import { counterFamily, goQuote, type MetricFamily } from '@kapstan/api/internal';
import type { ObjectReader, TokenAuthenticator, TokenResult, UserInfo } from '@kapstan/apiserver';
import { type AuthenticationRemarks, serviceAccountsGroup } from '@kapstan/apiserver/internal';
import { Secret, type ServiceAccount } from '@kapstan/kinds/core/v1';
import { audiencesOf, issuerOf, matchAudiences, type SignedClaims, type TokenSignatures } from './token-signatures.ts';

/** The claim "iss" of all these tokens, whatever the issuer of others is. */
const secretTokenIssuer = 'kubernetes/serviceaccount';

/** Label of a Secret: the day in UTC on which its token was last used. */
const lastUsedLabel = 'kubernetes.io/legacy-token-last-used';
/** Label of a Secret whose token is no longer accepted. kube-controller-manager sets it on unused tokens. */
const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since';

/** Prefix of annotations about these tokens in the audit log. */
const annotation = 'authentication.k8s.io/legacy-';
const noRemarks: AuthenticationRemarks = { warn: () => undefined };

const claim = {
  namespace: 'kubernetes.io/serviceaccount/namespace',
  secret: 'kubernetes.io/serviceaccount/secret.name',
  account: 'kubernetes.io/serviceaccount/service-account.name',
  accountUid: 'kubernetes.io/serviceaccount/service-account.uid',
} as const;

export interface SecretTokensOptions {
  readonly signatures: TokenSignatures;
  /** Audiences to check these tokens against; the tokens carry none. */
  readonly apiAudiences: readonly string[];
  /** Checks that Secrets and accounts still exist. */
  readonly reader: ObjectReader;
  /** Labels Secrets. */
  readonly client: Pick<ResourceClient, 'patch'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The owner of a token, and the Secret that keeps it. */
export interface SecretTokenClaims {
  readonly namespace: string;
  /** Name of the Secret. */
  readonly secret: string;
  /** Name of the service account. */
  readonly account: string;
  readonly accountUid: string;
}

/** Issues tokens that are kept in Secrets. */
export interface SecretTokenIssuer {
  /** Returns a JWT in compact form that does not expire. */
  issueForSecret(claims: SecretTokenClaims): Promise<string>;
}

/** Returns the claims of the account's token kept in the Secret. The order is Kubernetes'. */
export function secretTokenClaims({
  namespace,
  secret,
  account,
  accountUid,
}: SecretTokenClaims): Record<string, string> {
  return {
    iss: secretTokenIssuer,
    [claim.namespace]: namespace,
    [claim.secret]: secret,
    [claim.account]: account,
    [claim.accountUid]: accountUid,
    sub: userName(namespace, account),
  };
}

/** Tokens of service accounts that are kept in Secrets. */
export class SecretTokens implements TokenAuthenticator {
  readonly #options: SecretTokensOptions;
  readonly #uses = { all: 0, manual: 0, automatic: 0, invalid: 0 };

  constructor(options: SecretTokensOptions) {
    this.#options = options;
  }

  async authenticateToken(
    token: string,
    audiences: readonly string[],
    remarks: AuthenticationRemarks = noRemarks,
  ): Promise<TokenResult> {
    if (issuerOf(token) !== secretTokenIssuer) return { type: 'unknown' };
    const { signatures, apiAudiences } = this.#options;
    const signed = await signatures.verify(token);
    if (typeof signed === 'string') return { type: 'refused', error: signed };
    const named = audiencesOf(signed);
    if (named.length === 0) {
      remarks.annotate?.(`${annotation}token`, signed.sub ?? '');
      this.#uses.all++;
    }
    const matching = matchAudiences(named.length === 0 ? apiAudiences : named, audiences);
    if (typeof matching === 'string') return { type: 'refused', error: matching };
    const claims = readClaims(signed);
    if (typeof claims === 'string') return { type: 'refused', error: claims };
    const error = await this.#error(token, claims, remarks);
    if (error !== undefined) return { type: 'refused', error };
    return { type: 'accepted', user: userOf(claims), audiences: matching };
  }

  /** Source: pkg/serviceaccount/metrics.go. */
  get metrics(): readonly MetricFamily[] {
    const { all, manual, automatic, invalid } = this.#uses;
    return [
      counter('legacy_tokens_total', 'Uses of tokens that are kept in Secrets.', all),
      counter('legacy_manual_token_uses_total', 'Uses of tokens whose Secret was made by a client.', manual),
      counter('legacy_auto_token_uses_total', 'Uses of tokens whose Secret was made with the account.', automatic),
      counter('invalid_legacy_auto_token_uses_total', 'Uses of tokens that were marked invalid.', invalid),
    ];
  }

  async #error(token: string, claims: SecretTokenClaims, remarks: AuthenticationRemarks): Promise<string | undefined> {
    const { namespace, account } = claims;
    const secret = await this.#secret(token, claims);
    if (secret === undefined || secret.metadata?.deletionTimestamp !== undefined) return 'Token has been invalidated';
    if (!holds(secret, token)) return "Token does not match server's copy";
    const owner = await this.#account(claims);
    if (typeof owner === 'string') return owner;
    await this.#noteUse(secret);
    if ((secret.metadata?.labels?.[invalidSinceLabel] ?? '') === '') {
      this.#uses[remark(remarks, claims.secret, owner)]++;
      return undefined;
    }
    this.#uses.invalid++;
    remarks.annotate?.(`${annotation}token-invalidated`, `${claims.secret}/${namespace}`);
    return `the token in secret ${namespace}/${claims.secret} for service account ${namespace}/${account} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '${invalidSinceLabel}' label from the secret to temporarily allow use of this token`;
  }

  /** Returns the account, or the reason why the token is not accepted. */
  async #account({
    namespace,
    account: name,
    accountUid,
  }: SecretTokenClaims): Promise<DeepReadonly<ServiceAccount> | string> {
    const isMeant = ({ metadata }: DeepReadonly<ServiceAccount>): boolean => metadata?.uid === accountUid;
    const account = await this.#find('serviceaccounts', { namespace, name }, isMeant);
    if (account === undefined) return `serviceaccounts ${goQuote(name)} not found`;
    const { uid = '', deletionTimestamp } = account.metadata ?? {};
    if (deletionTimestamp !== undefined) return `ServiceAccount ${namespace}/${name} has been deleted`;
    if (uid !== accountUid) return `ServiceAccount UID (${uid}) does not match claim (${accountUid})`;
    return account;
  }

  #secret(token: string, { namespace, secret: name }: SecretTokenClaims): Promise<DeepReadonly<Secret> | undefined> {
    return this.#find<Secret>('secrets', { namespace, name }, (secret) => holds(secret, token));
  }

  /** Reads from the cache, and live when the cache does not have the object in question, which may be newer than it. */
  async #find<T extends Secret | ServiceAccount>(
    resource: 'secrets' | 'serviceaccounts',
    target: { readonly namespace: string; readonly name: string },
    isMeant: (object: DeepReadonly<T>) => boolean,
  ): Promise<DeepReadonly<T> | undefined> {
    const { reader } = this.#options;
    const kind = { group: '', version: 'v1', resource };
    const cached = (await reader.get(kind, target, 'cached')) as DeepReadonly<T> | undefined;
    if (cached !== undefined && isMeant(cached)) return cached;
    return (await reader.get(kind, target, 'live')) as DeepReadonly<T> | undefined;
  }

  /**
   * Labels the Secret once a day; another server's day may have begun already. Never rejects, because a failure is not
   * a reason to refuse the token.
   */
  async #noteUse({ metadata }: DeepReadonly<Secret>): Promise<void> {
    const { client, clock, logger } = this.#options;
    const { name = '', namespace = '', uid, labels } = metadata ?? {};
    const today = dayOf(clock.now());
    const noted = labels?.[lastUsedLabel];
    if (noted === today || noted === dayOf(clock.now() + 86_400_000)) return;
    const body = { metadata: { name, namespace, uid, labels: { [lastUsedLabel]: today } } };
    try {
      await client.patch(Secret, { namespace, name }, { type: 'merge', body });
    } catch (error) {
      logger.error('the last use of a token could not be recorded in its Secret', {
        namespace,
        name,
        error: String(error),
      });
    }
  }
}

function counter(name: string, help: string, value: number): MetricFamily {
  return counterFamily(`serviceaccount_${name}`, help, value);
}

/** Adds warnings and audit annotations. A Secret that its account lists was made by an old kube-controller-manager, not by a person. */
function remark(
  remarks: AuthenticationRemarks,
  secret: string,
  { secrets = [] }: DeepReadonly<ServiceAccount>,
): 'manual' | 'automatic' {
  const isMadeByItself = secrets.some(({ name }) => name === secret);
  remarks.annotate?.(`${annotation}token-${isMadeByItself ? 'autogenerated' : 'manual'}-secret`, secret);
  if (!isMadeByItself) return 'manual';
  remarks.warn(
    'Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.',
  );
  return 'automatic';
}

/** Returns the claims, or the first error in Kubernetes' order. */
function readClaims(signed: SignedClaims): SecretTokenClaims | string {
  const texts = signed as Readonly<Record<string, unknown>>;
  const text = (key: string): string => {
    const value = texts[key];
    return typeof value === 'string' ? value : '';
  };
  const claims = {
    namespace: text(claim.namespace),
    secret: text(claim.secret),
    account: text(claim.account),
    accountUid: text(claim.accountUid),
  };
  if (text('sub') === '') return 'sub claim is missing';
  if (claims.namespace === '') return 'namespace claim is missing';
  if (claims.secret === '') return 'secretName claim is missing';
  if (claims.account === '') return 'serviceAccountName claim is missing';
  if (claims.accountUid === '') return 'serviceAccountUID claim is missing';
  if (text('sub') !== userName(claims.namespace, claims.account)) return 'sub claim is invalid';
  return claims;
}

function holds({ data }: DeepReadonly<Secret>, token: string): boolean {
  const [kept, sent] = [Buffer.from(data?.token ?? '', 'base64'), Buffer.from(token)];
  return kept.length === sent.length && timingSafeEqual(kept, sent);
}

function userOf({ namespace, account, accountUid }: SecretTokenClaims): UserInfo {
  return {
    name: userName(namespace, account),
    uid: accountUid,
    groups: [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`],
  };
}

function userName(namespace: string, account: string): string {
  return `system:serviceaccount:${namespace}:${account}`;
}

function dayOf(ms: number): string {
  return formatTime(ms).slice(0, 'yyyy-mm-dd'.length);
}
