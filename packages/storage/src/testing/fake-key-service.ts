// FakeKeyService is a key service in memory, for tests of envelopes. Its keys have names; it seals by inverting bits.
import type { KeyService, KeyServiceStatus, SealedKey } from '../transform/key-service.ts';

export class FakeKeyService implements KeyService {
  keyId = 'key-1';
  healthz = 'ok';
  version = 'v2';
  /** Key name that {@link encrypt} reports, if it differs from that in the status. */
  encryptsWith: string | undefined;
  annotations: ReadonlyMap<string, Uint8Array> = new Map([['v.kms.example.com', Buffer.of(7)]]);
  ciphertext: Uint8Array | undefined;
  /** When set, every call fails with this error. */
  failure: Error | undefined;
  /** Runs before each decryption. */
  beforeDecrypt: () => Promise<void> = () => Promise.resolve();
  readonly calls: string[] = [];

  async status(): Promise<KeyServiceStatus> {
    this.#called('status');
    return { version: this.version, healthz: this.healthz, keyId: this.keyId };
  }

  async encrypt(plain: Uint8Array): Promise<SealedKey> {
    this.#called('encrypt');
    const ciphertext = this.ciphertext ?? plain.map((byte) => byte ^ 0x55);
    return { ciphertext, keyId: this.encryptsWith ?? this.keyId, annotations: this.annotations };
  }

  async decrypt({ ciphertext, keyId }: SealedKey): Promise<Uint8Array> {
    this.#called(`decrypt ${keyId}`);
    await this.beforeDecrypt();
    return ciphertext.map((byte) => byte ^ 0x55);
  }

  #called(what: string): void {
    this.calls.push(what);
    if (this.failure !== undefined) throw this.failure;
  }
}
