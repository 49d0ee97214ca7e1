// The port of a KMS v2 plug-in, which encrypts the keys that encrypt the data. Its gRPC client is elsewhere, so that
// storage does not depend on gRPC. Source: k8s.io/kms/pkg/service.

/** The status of a key service, as it reports it. */
export interface KeyServiceStatus {
  /** "v2" or "v2beta1". */
  readonly version: string;
  /** "ok", or a description of the fault. */
  readonly healthz: string;
  /** Name of the key that {@link KeyService.encrypt} uses now. A new name makes the server take a new data key. */
  readonly keyId: string;
}

/** A key sealed by a key service, with everything that the service needs to open it. */
export interface SealedKey {
  readonly ciphertext: Uint8Array;
  readonly keyId: string;
  readonly annotations: ReadonlyMap<string, Uint8Array>;
}

/**
 * Every call has its own deadline and rejects when it has passed. `uid` identifies the call in the logs of both sides.
 */
export interface KeyService {
  status(): Promise<KeyServiceStatus>;
  encrypt(plain: Uint8Array, uid: string): Promise<SealedKey>;
  decrypt(sealed: SealedKey, uid: string): Promise<Uint8Array>;
}
