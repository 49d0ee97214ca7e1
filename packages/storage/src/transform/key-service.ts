// The port of a KMS v2 plug-in: who encrypts the keys that encrypt the data. Its gRPC client is elsewhere, so that storage
// carries no gRPC. Source: k8s.io/kms/pkg/service.

export interface KeyServiceStatus {
  /** "v2" or "v2beta1". */
  readonly version: string;
  /** "ok", or what is wrong. */
  readonly healthz: string;
  /** Names the key that {@link KeyService.encrypt} uses now. A new name makes the server take a new data key. */
  readonly keyId: string;
}

/** What a key service made of a key, and all that it needs to give the key back. */
export interface SealedKey {
  readonly ciphertext: Uint8Array;
  readonly keyId: string;
  readonly annotations: ReadonlyMap<string, Uint8Array>;
}

/** Every call has a deadline of its own and rejects when it is over. `uid` names the call in the logs of both sides. */
export interface KeyService {
  status(): Promise<KeyServiceStatus>;
  encrypt(plain: Uint8Array, uid: string): Promise<SealedKey>;
  decrypt(sealed: SealedKey, uid: string): Promise<Uint8Array>;
}
