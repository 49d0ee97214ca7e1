// FakeKmsPlugin: a KMS v2 plug-in on a real Unix socket, for tests. It encrypts keys by inverting their bits.
import { fileURLToPath } from 'node:url';
import { type handleUnaryCall, Server, ServerCredentials, type ServiceDefinition, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

interface Request {
  readonly ciphertext: Buffer;
  readonly plaintext: Buffer;
  readonly keyId: string;
  readonly uid: string;
  readonly annotations: Readonly<Record<string, Buffer>>;
}

export class FakeKmsPlugin {
  keyId = 'key-1';
  healthz = 'ok';
  /** When set, every call fails with this message. */
  failure: string | undefined;
  /** When true, no call is answered. */
  isSilent = false;
  readonly calls: { readonly method: string; readonly request: Request }[] = [];
  #server: Server | undefined;

  /** Resolves when the server listens. */
  async listen(address: string): Promise<void> {
    const file = fileURLToPath(new URL('../../proto/kms.proto', import.meta.url));
    const service = loadSync(file, { defaults: true })['v2.KeyManagementService'] as ServiceDefinition;
    const server = new Server();
    server.addService(service, {
      Status: this.#answer('Status', () => ({ version: 'v2', healthz: this.healthz, keyId: this.keyId })),
      Encrypt: this.#answer('Encrypt', ({ plaintext }) => ({
        ciphertext: turned(plaintext),
        keyId: this.keyId,
        annotations: { 'version.fake.example.com': Buffer.from('1') },
      })),
      Decrypt: this.#answer('Decrypt', ({ ciphertext }) => ({ plaintext: turned(ciphertext) })),
    });
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(address, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve()));
    });
    this.#server = server;
  }

  close(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  #answer(method: string, answer: (request: Request) => object): handleUnaryCall<Request, object> {
    return ({ request }, callback) => {
      this.calls.push({ method, request });
      if (this.isSilent) return;
      if (this.failure === undefined) callback(null, answer(request));
      else callback({ code: status.INTERNAL, details: this.failure });
    };
  }
}

function turned(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte) => byte ^ 0x55));
}
