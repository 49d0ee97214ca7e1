// KmsPlugin connects to a KMS v2 plug-in on a Unix socket and implements the KeyService port of storage. Source: kmsv2 grpc_service.
import { fileURLToPath } from 'node:url';
import { Client, credentials, Metadata, type MethodDefinition, type ServiceDefinition, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { Clock } from '@kapstan/api';
import type { KeyService, KeyServiceStatus, SealedKey } from '@kapstan/storage';
import type { KeyServiceCall } from './encryption-metrics.ts';

export interface KmsPluginOptions {
  /** "unix:///path"; "unix:///@name" is an abstract socket, which only Linux has. */
  readonly endpoint: string;
  /** Timeout of one call in milliseconds, including the wait for a connection. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Called after each call. Default: nothing. */
  readonly onCall?: (call: Pick<KeyServiceCall, 'method' | 'code' | 'durationMs'>) => void;
}

interface WireSealedKey {
  readonly ciphertext: Uint8Array;
  readonly keyId: string;
  readonly annotations: Readonly<Record<string, Uint8Array>>;
}

/** Calls wait, within their timeout, for a plug-in that is not running yet. */
export class KmsPlugin implements KeyService {
  readonly #options: KmsPluginOptions;
  readonly #client: Client;

  /** Connects at the first call. Throws TypeError when the endpoint does not name a socket. */
  constructor(options: KmsPluginOptions) {
    this.#options = options;
    this.#client = new Client(target(options.endpoint), credentials.createInsecure(), {
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
    });
  }

  status(): Promise<KeyServiceStatus> {
    return this.#call(methods().status, {});
  }

  async encrypt(plaintext: Uint8Array, uid: string): Promise<SealedKey> {
    const { ciphertext, keyId, annotations } = await this.#call(methods().encrypt, { plaintext, uid });
    return { ciphertext, keyId, annotations: new Map(Object.entries(annotations)) };
  }

  async decrypt({ ciphertext, keyId, annotations }: SealedKey, uid: string): Promise<Uint8Array> {
    const sealed = { ciphertext, keyId, annotations: Object.fromEntries(annotations), uid };
    return (await this.#call(methods().decrypt, sealed)).plaintext;
  }

  close(): void {
    this.#client.close();
  }

  #call<Q, R>(method: MethodDefinition<Q, R>, request: Q): Promise<R> {
    const { clock, timeoutMs, onCall } = this.#options;
    const startMs = clock.monotonicNow();
    const metadata = new Metadata({ waitForReady: true });
    return new Promise((resolve, reject) => {
      let isOverdue = false;
      const { path, requestSerialize, responseDeserialize } = method;
      const call = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        (error, answer) => {
          cancelTimer();
          const code = isOverdue ? status.DEADLINE_EXCEEDED : (error?.code ?? status.OK);
          onCall?.({ method: path, code: codeName(code), durationMs: clock.monotonicNow() - startMs });
          if (code === status.OK) resolve(answer as R);
          else reject(rpcError(code, isOverdue ? 'context deadline exceeded' : (error?.details ?? '')));
        },
      );
      const cancelTimer = clock.setTimer(() => {
        isOverdue = true;
        call.cancel();
      }, timeoutMs);
    });
  }
}

/** Formats the error as Go does, so that searching for the text works. */
function rpcError(code: status, details: string): Error {
  return new Error(`rpc error: code = ${codeName(code)} desc = ${details}`);
}

/** Returns Go's name, such as "DeadlineExceeded"; gRPC's own is DEADLINE_EXCEEDED. */
function codeName(code: status): string {
  if (code === status.OK) return 'OK';
  const words = (status[code] ?? `CODE(${code})`).split('_');
  const name = words.map((word) => `${word.slice(0, 1)}${word.slice(1).toLowerCase()}`).join('');
  return name === 'Cancelled' ? 'Canceled' : name;
}

function target(endpoint: string): string {
  const path = endpoint.replace(/^unix:(\/\/)?/i, '');
  if (path === '') throw new TypeError(`failed to parse endpoint ${endpoint}: it names no socket`);
  return path.startsWith('/@') ? `unix:\0${path.slice(2)}` : `unix:${path}`;
}

interface Methods {
  readonly status: MethodDefinition<Record<string, never>, KeyServiceStatus>;
  readonly encrypt: MethodDefinition<{ readonly plaintext: Uint8Array; readonly uid: string }, WireSealedKey>;
  readonly decrypt: MethodDefinition<WireSealedKey & { readonly uid: string }, { readonly plaintext: Uint8Array }>;
}

let loaded: Methods | undefined;

function methods(): Methods {
  loaded ??= loadMethods();
  return loaded;
}

function loadMethods(): Methods {
  const file = fileURLToPath(new URL('../../proto/kms.proto', import.meta.url));
  const service = loadSync(file, { defaults: true })['v2.KeyManagementService'] as ServiceDefinition;
  const method = (name: string): never => {
    const found = service[name];
    if (found === undefined) throw new TypeError(`kms.proto lacks ${name}`);
    // The cast relies on the shapes declared above; the tests call each method.
    return found as never;
  };
  return { status: method('Status'), encrypt: method('Encrypt'), decrypt: method('Decrypt') };
}
