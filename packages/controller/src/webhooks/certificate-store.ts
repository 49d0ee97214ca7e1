// Stores the program's own certificates: in a Secret, which all replicas share, or in memory. Used by
// own-certificates.ts.
import { type Clock, isAlreadyExists, isConflict, isNotFound, type Logger, type ResourceClient } from '@kapstan/api';
import { SharedInformer } from '@kapstan/informers';
import { Secret } from '@kapstan/kinds/core/v1';
import type { CertificateState } from './certificate-plan.ts';

/** The stored state, with the version that a change must name. */
export interface StoredCertificates {
  readonly state: CertificateState | undefined;
  readonly version: string | undefined;
}

export interface CertificateStore {
  read(signal: AbortSignal): Promise<StoredCertificates>;
  /** Returns false when somebody else wrote meanwhile. */
  write(state: CertificateState, version: string | undefined, signal: AbortSignal): Promise<boolean>;
  /** Calls back after changes by others until the signal aborts. */
  follow(onChange: () => void, signal: AbortSignal): Promise<void>;
}

/** For one process: a new start makes new certificates. */
export class MemoryCertificates implements CertificateStore {
  #state: CertificateState | undefined;

  async read(): Promise<StoredCertificates> {
    return { state: this.#state, version: undefined };
  }

  async write(state: CertificateState): Promise<boolean> {
    this.#state = state;
    return true;
  }

  async follow(): Promise<void> {
    // No other process can change it.
  }
}

/** A Secret by name and namespace. */
export interface SecretName {
  readonly name: string;
  readonly namespace: string;
}

/** The names of its data come from cert-manager, except for the key of the authority. */
const names = { bundle: 'ca.crt', authorityKey: 'ca.key', cert: 'tls.crt', key: 'tls.key' } as const;

export interface SecretPorts {
  readonly client: ResourceClient;
  readonly fieldManager: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SecretCertificates implements CertificateStore {
  readonly #client: ResourceClient;
  readonly #name: SecretName;
  readonly #ports: SecretPorts;

  constructor(name: SecretName, ports: SecretPorts) {
    this.#client = ports.client;
    this.#name = name;
    this.#ports = ports;
  }

  /** Rejects for a Secret that another program fills, such as cert-manager. */
  async read(signal: AbortSignal): Promise<StoredCertificates> {
    try {
      const { data = {}, metadata } = await this.#client.get(Secret, this.#name, { signal });
      this.#requireOwn(data);
      return { state: stateOf(data), version: metadata?.resourceVersion };
    } catch (error) {
      if (isNotFound(error)) return { state: undefined, version: undefined };
      throw error;
    }
  }

  /** Others do not store the key of the authority. */
  #requireOwn(data: Readonly<Record<string, string>>): void {
    if (!data[names.cert] || data[names.authorityKey]) return;
    const { name, namespace } = this.#name;
    throw new Error(
      `the Secret ${namespace}/${name} has a certificate that this program did not make: it has ${names.cert} and no ${names.authorityKey}. Mount it and name its files in webhooks.certificates, or name another Secret`,
    );
  }

  async write(state: CertificateState, version: string | undefined, signal: AbortSignal): Promise<boolean> {
    const options = { fieldManager: this.#ports.fieldManager, signal };
    const object: Secret = { metadata: { ...this.#name }, type: 'kubernetes.io/tls', data: dataOf(state) };
    try {
      if (version === undefined) await this.#client.create(Secret, object, options);
      else {
        const present = await this.#client.get(Secret, this.#name, { signal });
        if (present.metadata?.resourceVersion !== version) return false;
        await this.#client.update(Secret, { ...present, data: { ...present.data, ...object.data } }, options);
      }
      return true;
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) return false;
      throw error;
    }
  }

  async follow(onChange: () => void, signal: AbortSignal): Promise<void> {
    const { name, namespace } = this.#name;
    const { clock, logger } = this.#ports;
    await using informer = new SharedInformer(this.#client.listerWatcher(Secret, { namespace }), {
      resource: Secret,
      fieldSelector: `metadata.name=${name}`,
      clock,
      logger,
    });
    informer.start();
    for await (const event of informer.watchEvents({ signal })) if (event.type !== 'synced') onChange();
  }
}

function stateOf(data: Readonly<Record<string, string>>): CertificateState | undefined {
  const text = (name: string): string => Buffer.from(data[name] ?? '', 'base64').toString('utf8');
  const state = {
    bundle: text(names.bundle),
    authorityKey: text(names.authorityKey),
    serving: { cert: text(names.cert), key: text(names.key) },
  };
  return state.bundle === '' ? undefined : state;
}

function dataOf({ bundle, authorityKey, serving }: CertificateState): Record<string, string> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return {
    [names.bundle]: base64(bundle),
    [names.authorityKey]: base64(authorityKey),
    [names.cert]: base64(serving.cert),
    [names.key]: base64(serving.key),
  };
}
