// TransformerSet: the transformers of one EncryptionConfiguration by resource, with the key services that they need.
// Between configuration.ts and encryption-at-rest.ts. Source: encryptionconfig getTransformerOverridesAndKMSPluginProbes.
import type { Clock, GroupResource, Logger } from '@kapstan/api';
import {
  aesCbcTransformer,
  aesGcmTransformer,
  DataKey,
  EnvelopeTransformer,
  identityTransformer,
  type PrefixEntry,
  prefixTransformer,
  secretboxTransformer,
  type Transformer,
} from '@kapstan/storage';
import type { EncryptionConfiguration, KeyRing, KmsConfiguration, ProviderConfiguration } from './configuration.ts';
import { decodeSecret } from './configuration-rules.ts';
import type { EncryptionMetrics } from './encryption-metrics.ts';
import { KmsPlugin, type KmsPluginOptions } from './kms-plugin.ts';
import { anyGroupAndResource, parseGroupResource, shownName } from './resource-names.ts';

export interface TransformerSetPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: EncryptionMetrics;
}

interface KeySource {
  readonly plugin: KmsPlugin;
  readonly dataKey: DataKey;
  readonly timeoutMs: number;
}

export class TransformerSet {
  readonly #ports: TransformerSetPorts;
  readonly #transformers = new Map<string, Transformer>();
  readonly #sources: KeySource[] = [];

  /** Throws TypeError for a rule that an earlier one masks and for a provider that is not built; nothing is left open then. */
  constructor(configuration: EncryptionConfiguration, ports: TransformerSetPorts) {
    this.#ports = ports;
    try {
      const entries = this.#entries(configuration);
      for (const [name, list] of entries)
        this.#transformers.set(name, prefixTransformer(list, 'no matching prefix found'));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Calls each key service for the first time. Resolves even when that fails, because the service may come up later. */
  async start(): Promise<void> {
    await Promise.all(this.#sources.map(({ dataKey }) => dataKey.start()));
  }

  /**
   * Returns the transformer for the resource, or else for its group, or else for everything. Without any, encrypted values cannot be read.
   */
  find(resource: GroupResource): Transformer {
    return (
      this.#transformers.get(shownName(resource)) ??
      this.#transformers.get(shownName({ group: resource.group, resource: '*' })) ??
      this.#transformers.get(shownName(anyGroupAndResource)) ??
      identityTransformer
    );
  }

  get hasKeyServices(): boolean {
    return this.#sources.length > 0;
  }

  /** Time after which every call to a key service that is now in progress has ended. */
  get graceMs(): number {
    return 2 * this.#sources.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0);
  }

  /** Returns undefined when all key services are healthy. They are asked one after the other, and errors name each by its position. */
  async check(): Promise<Error | undefined> {
    const errors: string[] = [];
    for (const [index, { dataKey }] of this.#sources.entries()) {
      const error = await dataKey.check();
      if (error !== undefined) errors.push(`kms-provider-${index}: ${error.message}`);
    }
    if (errors.length === 0) return undefined;
    return new Error(errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`);
  }

  close(): void {
    for (const { dataKey, plugin } of this.#sources) {
      dataKey.close();
      plugin.close();
    }
  }

  /** Returns the entries by resource. A resource that is named again later gets those providers after its first ones. */
  #entries({ resources }: EncryptionConfiguration): ReadonlyMap<string, PrefixEntry[]> {
    const entries = new Map<string, PrefixEntry[]>();
    for (const { resources: names, providers } of resources) {
      const added = providers.map((provider) => this.#entry(provider));
      for (const name of names) {
        const resource = parseGroupResource(name);
        refuseMasked(resource, entries);
        const key = shownName(resource);
        entries.set(key, [...(entries.get(key) ?? []), ...added]);
      }
    }
    return entries;
  }

  #entry(provider: ProviderConfiguration): PrefixEntry {
    const { aesgcm, aescbc, secretbox, kms } = provider;
    if (aesgcm !== undefined) return ring('aesgcm', 'AES', { keys: aesgcm, create: aesGcmTransformer });
    if (aescbc !== undefined) return ring('aescbc', 'AES', { keys: aescbc, create: aesCbcTransformer });
    if (secretbox !== undefined) {
      return ring('secretbox', 'Secretbox', { keys: secretbox, create: secretboxTransformer });
    }
    if (kms !== undefined) return this.#envelope(kms);
    return { prefix: '', transformer: identityTransformer };
  }

  #envelope({ apiVersion, name, endpoint, timeoutMs }: KmsConfiguration): PrefixEntry {
    if (apiVersion !== 'v2') {
      const advice = 'KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.';
      throw new TypeError(`${advice} KMSv1 is not supported by this version of kapstan (KMS provider ${name}).`);
    }
    const { clock, logger, metrics } = this.#ports;
    const onCall: KmsPluginOptions['onCall'] = (call) => metrics?.onKeyServiceCall({ ...call, provider: name });
    const service = new KmsPlugin({ endpoint, timeoutMs, clock, onCall });
    const common = { providerName: name, service, clock, logger, observer: metrics?.keys.observerFor(name) };
    const dataKey = new DataKey(common);
    this.#sources.push({ plugin: service, dataKey, timeoutMs });
    return {
      prefix: `k8s:enc:kms:v2:${name}:`,
      transformer: new EnvelopeTransformer({ ...common, dataKey }),
    };
  }
}

function refuseMasked(resource: GroupResource, earlier: ReadonlyMap<string, unknown>): void {
  for (const rule of [{ group: resource.group, resource: '*' }, anyGroupAndResource]) {
    if (!earlier.has(shownName(rule))) continue;
    throw new TypeError(`resource "${shownName(resource)}" is masked by earlier rule "${shownName(rule)}"`);
  }
}

function ring(
  provider: string,
  shownAs: string,
  { keys: { keys }, create }: { readonly keys: KeyRing; readonly create: (key: Uint8Array) => Transformer },
): PrefixEntry {
  const entries = keys.map(({ name, secret }) => {
    // The rules have checked that the text is base64 of the right length.
    const key = decodeSecret(secret) ?? new Uint8Array();
    return { prefix: `${name}:`, transformer: create(key) };
  });
  const unmatched = `no matching key was found for the provided ${shownAs} transformer`;
  return { prefix: `k8s:enc:${provider}:v1:`, transformer: prefixTransformer(entries, unmatched) };
}
