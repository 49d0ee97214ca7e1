// AuthToken holds the token of a user with name and password. It is fetched when first needed and renewed when etcd no
// longer knows it. Used by caller.ts and watch-hub.ts.
import { type Client, Metadata } from '@grpc/grpc-js';
import { isGrpcError } from './etcd-error.ts';
import { unary } from './unary.ts';
import { loadWire } from './wire.ts';

/** The user of an etcd with authentication. */
export interface EtcdUser {
  readonly name: string;
  readonly password: string;
}

export class AuthToken {
  readonly #user: EtcdUser | undefined;
  #token: string | undefined;
  #fetching: Promise<string> | undefined;

  constructor(user: EtcdUser | undefined) {
    this.#user = user;
  }

  /** Returns the metadata that a call must carry. Rejects as {@link unary} does. */
  async metadata(client: Client, signal: AbortSignal): Promise<Metadata> {
    const metadata = new Metadata();
    if (this.#user === undefined) return metadata;
    this.#token ??= await this.#fetch({ client, user: this.#user, signal });
    if (this.#token !== '') metadata.set('token', this.#token);
    return metadata;
  }

  /** Drops a token that etcd refused, unless it was replaced meanwhile. The next call fetches another one. */
  reject(metadata: Metadata): void {
    if (metadata.get('token')[0] === this.#token) this.#token = undefined;
  }

  get isUsed(): boolean {
    return this.#user !== undefined;
  }

  #fetch(call: { readonly client: Client; readonly user: EtcdUser; readonly signal: AbortSignal }): Promise<string> {
    this.#fetching ??= authenticate(call).finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }
}

async function authenticate(call: {
  readonly client: Client;
  readonly user: EtcdUser;
  readonly signal: AbortSignal;
}): Promise<string> {
  const { client, user, signal } = call;
  const { name, password } = user;
  try {
    const call = { client, metadata: new Metadata(), signal };
    return (await unary(loadWire().authenticate, { name, password }, call)).token;
  } catch (error) {
    // etcd's own client also continues without a token in this case.
    if (isGrpcError(error) && error.details === 'etcdserver: authentication is not enabled') return '';
    throw error;
  }
}
