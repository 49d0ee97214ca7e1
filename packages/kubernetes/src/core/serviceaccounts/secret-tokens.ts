// SecretTokens: knows the tokens of service accounts that are kept in Secrets, which have no end but that of their Secret or
// account, and notes in the Secret when one was last used. Beside service-account-tokens.ts. Source: pkg/serviceaccount/legacy.go.
import { timingSafeEqual } from 'node:crypto';
import { type Clock, type DeepReadonly, formatTime, type Logger, type ResourceClient } from '@kapstan/api';
import { goQuote } from '@kapstan/api/internal';
import type { ObjectReader, TokenAuthenticator, TokenResult, UserInfo } from '@kapstan/apiserver';
import { type AuthenticationRemarks, serviceAccountsGroup } from '@kapstan/apiserver/internal';
import { Secret, type ServiceAccount } from '@kapstan/kinds/core/v1';
import type { MetricFamily } from '@kapstan/storage';
import { audiencesOf, issuerOf, matchAudiences, type SignedClaims, type TokenSignatures } from './token-signatures.ts';

/** The claim "iss" of all of them, whatever the issuer of others is. */
const secretTokenIssuer = 'kubernetes/serviceaccount';

/** Of a Secret: the day in UTC on which its token was last used. */
const lastUsedLabel = 'kubernetes.io/legacy-token-last-used';
/** Of a Secret: its token does not count any more. kube-controller-manager sets it on those that nobody uses. */
const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since';

/** How annotations of these tokens in the audit log begin. */
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
  /** For whom these tokens are: they do not say it themselves. */
  readonly apiAudiences: readonly string[];
  /** Looks whether Secrets and accounts are still there. */
  readonly reader: ObjectReader;
  /** Labels Secrets. */
  readonly client: Pick<ResourceClient, 'patch'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Whose a token is, and where it is kept. */
export interface SecretTokenClaims {
  readonly namespace: string;
  /** Name of the Secret. */
  readonly secret: string;
  /** Name of the service account. */
  readonly account: string;
  readonly accountUid: string;
}

export interface SecretTokenIssuer {
  /** A JWT in compact form, without an end. */
  issueForSecret(claims: SecretTokenClaims): Promise<string>;
}

/** What a token of the account, to be kept in the Secret, has to say. The order is Kubernetes'. */
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
      counter('legacy_manual_token_uses_total', 'Uses of those whose Secret somebody made.', manual),
      counter('legacy_auto_token_uses_total', 'Uses of those whose Secret was made with the account.', automatic),
      counter('invalid_legacy_auto_token_uses_total', 'Uses of those that were marked invalid.', invalid),
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

  /** Or why it is none that could come in. */
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

  /** From the cache, and live where that has not what is meant: it may be newer than the cache. */
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

  /** Once a day. The day of another server may have begun already. Never rejects: it is no reason to refuse anybody. */
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
      logger.error('The use of a token could not be noted in its Secret', { namespace, name, error: String(error) });
    }
  }
}

function counter(name: string, help: string, value: number): MetricFamily {
  return { name: `serviceaccount_${name}`, help, type: 'counter', samples: [{ labels: {}, value }] };
}

/** A Secret that its account names was made by a kube-controller-manager of old, and not by a person. */
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

/** What is asked of the claims, in the order in which it is told. */
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
