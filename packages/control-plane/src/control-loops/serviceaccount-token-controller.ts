// serviceaccount-token-controller fills Secrets that request a service account token, and deletes them together with their
// account. Source: pkg/controller/serviceaccount/tokens_controller.go.
import { type DeepReadonly, isConflict, isNotFound, type KubernetesObject } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import { type DeletedFinalStateUnknown, isDeletedFinalStateUnknown } from '@kapstan/informers';
import { Secret, ServiceAccount } from '@kapstan/kinds/core/v1';
import { type ControlLoop, type ControlLoopContext, loopQueue, runQueue, settledBefore } from './control-loop.ts';

const tokenType = 'kubernetes.io/service-account-token';
const accountAnnotation = 'kubernetes.io/service-account.name';
const accountUidAnnotation = 'kubernetes.io/service-account.uid';
const workers = 5;

/** The identity of an object that may be gone, as encoded in the key of the queue. */
interface AccountIdentity {
  readonly namespace: string;
  readonly name: string;
  /** "" = any uid. */
  readonly uid: string;
}

interface SecretIdentity extends AccountIdentity {
  readonly account: AccountIdentity;
}

export const serviceAccountTokenController: ControlLoop = async (context, signal) => {
  const accounts = context.informers.informer(ServiceAccount);
  const secrets = context.informers.informer(Secret);
  const accountQueue = loopQueue(context, { name: 'serviceaccount_tokens_service', signal });
  const secretQueue = loopQueue(context, { name: 'serviceaccount_tokens_secret', signal });
  const addAccount = (account: DeepReadonly<ServiceAccount>): void =>
    accountQueue.add(JSON.stringify(identityOf(account)));
  const addSecret = (secret: DeepReadonly<Secret>): void => {
    const account = accountOf(secret);
    if (secret.type !== tokenType || account.name === '') return;
    secretQueue.add(JSON.stringify({ ...identityOf(secret), account }));
  };
  const registrations = [
    accounts.addEventHandler({ onDelete: (last) => withObject(last, addAccount) }),
    secrets.addEventHandler({
      onAdd: addSecret,
      onUpdate: (_old, next) => addSecret(next),
      onDelete: (last) => withObject(last, addSecret),
    }),
  ];
  const tokens = new SecretTokenLoop(context, {
    signal,
    findAccount: (account) => meant(accounts.lister.namespace(account.namespace).find(account.name), account),
    findSecret: (secret) => meant(secrets.lister.namespace(secret.namespace).find(secret.name), secret),
    secretsIn: (namespace) => secrets.lister.namespace(namespace).list(),
  });
  try {
    if (!(await settledBefore(Promise.all(registrations.map((one) => one.whenSynced())), signal))) return;
    context.onSynced();
    await Promise.all([
      runQueue(
        context,
        { queue: accountQueue, workers, reconcile: ({ key }) => tokens.removeTokensOf(JSON.parse(key)) },
        signal,
      ),
      runQueue(
        context,
        { queue: secretQueue, workers, reconcile: ({ key }) => tokens.reconcile(JSON.parse(key)) },
        signal,
      ),
    ]);
  } finally {
    await Promise.all(registrations.map((one) => one.close()));
  }
};

interface TokenCaches {
  readonly signal: AbortSignal;
  findAccount(account: AccountIdentity): DeepReadonly<ServiceAccount> | undefined;
  findSecret(secret: SecretIdentity): DeepReadonly<Secret> | undefined;
  secretsIn(namespace: string): readonly DeepReadonly<Secret>[];
}

class SecretTokenLoop {
  readonly #context: ControlLoopContext;
  readonly #caches: TokenCaches;

  constructor(context: ControlLoopContext, caches: TokenCaches) {
    this.#context = context;
    this.#caches = caches;
  }

  async removeTokensOf(account: AccountIdentity): Promise<undefined> {
    if (this.#caches.findAccount(account) !== undefined) return;
    const orphaned = this.#caches.secretsIn(account.namespace).filter((secret) => isTokenOf(secret, account));
    await Promise.all(orphaned.map((secret) => this.#remove(identityOf(secret))));
  }

  async reconcile(identity: SecretIdentity): Promise<undefined> {
    const secret = this.#caches.findSecret(identity);
    const account = this.#caches.findAccount(identity.account);
    if (secret === undefined) {
      if (account !== undefined) await this.#removeReference(identity);
      return;
    }
    // Reads from the server, because the account may be newer than the cache: a Secret must not be deleted while its account exists.
    const present = account ?? (await this.#readAccount(identity.account));
    if (present === undefined) await this.#remove(identity);
    else await this.#fill(secret, present);
  }

  async #readAccount(account: AccountIdentity): Promise<ServiceAccount | undefined> {
    // The server would reject every request for such a name.
    if (dnsSubdomainErrors(account.name).length > 0) return undefined;
    const { client } = this.#context;
    return meant(await unlessNotFound(client.get(ServiceAccount, targetOf(account), this.#call)), account);
  }

  async #remove(secret: AccountIdentity): Promise<void> {
    const preconditions = { uid: secret.uid };
    await this.#context.client
      .delete(Secret, targetOf(secret), { preconditions, ...this.#call })
      .catch((error: unknown) => {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      });
  }

  async #fill(cached: DeepReadonly<Secret>, account: DeepReadonly<ServiceAccount>): Promise<void> {
    if (!this.#isWanting(cached)) return;
    const { client, caCert, secretTokens } = this.#context;
    const live = await unlessNotFound(client.get(Secret, targetOf(identityOf(cached)), this.#call));
    // The Secret is gone or newer than the cache; the cache will report it, and that triggers this loop again.
    if (live === undefined || live.metadata?.resourceVersion !== cached.metadata?.resourceVersion) return;
    const { namespace, name, uid } = identityOf(account);
    const secret = live.metadata?.name ?? '';
    const token =
      (live.data?.token ?? '') === ''
        ? { token: base64(await secretTokens.issueForSecret({ namespace, secret, account: name, accountUid: uid })) }
        : {};
    const inNamespace = (live.data?.namespace ?? '') === '' ? { namespace: base64(namespace) } : {};
    const annotations = { ...live.metadata?.annotations, [accountAnnotation]: name, [accountUidAnnotation]: uid };
    const next = {
      ...live,
      metadata: { ...live.metadata, annotations },
      data: { ...live.data, 'ca.crt': base64(caCert), ...inNamespace, ...token },
    };
    await client.update(Secret, next, this.#call).catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }

  #isWanting({ data = {} }: DeepReadonly<Secret>): boolean {
    return (
      data['ca.crt'] !== base64(this.#context.caCert) || (data.namespace ?? '') === '' || (data.token ?? '') === ''
    );
  }

  /** Removes the account's reference to a Secret that is gone. A conflict is retried. */
  async #removeReference({ account, name }: SecretIdentity): Promise<void> {
    const live = await this.#readAccount(account);
    const references = live?.secrets ?? [];
    const secrets = references.filter((reference) => reference.name !== name);
    if (live === undefined || secrets.length === references.length) return;
    await unlessNotFound(this.#context.client.update(ServiceAccount, { ...live, secrets }, this.#call));
  }

  get #call(): { readonly signal: AbortSignal } {
    return { signal: this.#caches.signal };
  }
}

function identityOf({ metadata }: DeepReadonly<KubernetesObject>): AccountIdentity {
  const { namespace = '', name = '', uid = '' } = metadata ?? {};
  return { namespace, name, uid };
}

/** Returns the account whose token the Secret requests. */
function accountOf({ metadata }: DeepReadonly<Secret>): AccountIdentity {
  const { namespace = '', annotations = {} } = metadata ?? {};
  return { namespace, name: annotations[accountAnnotation] ?? '', uid: annotations[accountUidAnnotation] ?? '' };
}

/** Source: apiserver serviceaccount.IsServiceAccountToken. */
function isTokenOf(secret: DeepReadonly<Secret>, { name, uid }: AccountIdentity): boolean {
  const account = accountOf(secret);
  return secret.type === tokenType && account.name === name && (account.uid === '' || account.uid === uid);
}

function meant<T extends DeepReadonly<KubernetesObject>>(
  found: T | undefined,
  { uid }: AccountIdentity,
): T | undefined {
  return uid === '' || found?.metadata?.uid === uid ? found : undefined;
}

function targetOf({ namespace, name }: AccountIdentity): { readonly namespace: string; readonly name: string } {
  return { namespace, name };
}

function withObject<T extends KubernetesObject>(
  last: DeepReadonly<T> | DeletedFinalStateUnknown<T>,
  use: (object: DeepReadonly<T>) => void,
): void {
  const object = isDeletedFinalStateUnknown<T>(last) ? last.object : last;
  if (object !== undefined) use(object as DeepReadonly<T>);
}

async function unlessNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return undefined;
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
