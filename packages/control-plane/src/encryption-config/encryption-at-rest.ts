// EncryptionAtRest holds the transformers that --encryption-provider-config defines for each resource, and, on request, reloads the file
// when it changes. Opened by control-plane.ts. Source: apiserver server/options/encryptionconfig and its controller.

import type { CancelTimer, Clock, GroupResource, Logger } from '@kapstan/api';
import { formatFieldErrors } from '@kapstan/api/errors';
import { formatMetrics, messageOf } from '@kapstan/api/internal';
import type { HealthCheck } from '@kapstan/apiserver';
import type { Transformer } from '@kapstan/storage';
import { ConfigurationReader } from '../followed-file/configuration-reader.ts';
import { FollowedFile, type FollowedFilePorts } from '../followed-file/followed-file.ts';
import { maxConfigurationBytes, readLimitedFile } from '../followed-file/limited-file.ts';
import { contentHash, ReloadMetrics } from '../followed-file/reload-metrics.ts';
import { type EncryptionConfiguration, parseEncryptionConfiguration } from './configuration.ts';
import { encryptionConfigurationErrors } from './configuration-rules.ts';
import { EncryptionMetrics } from './encryption-metrics.ts';
import { TransformerSet } from './transformer-set.ts';

/** Options of encryption at rest. */
export interface EncryptionOptions {
  /** An EncryptionConfiguration of apiserver.config.k8s.io/v1, as YAML or JSON. */
  readonly configFile: string;
  /**
   * Checks the file once a minute and reloads it when it has changed; a file with errors is logged and the old configuration stays. Default
   * false.
   */
  readonly reloads?: boolean;
}

interface LoadPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: EncryptionMetrics;
}

interface Opened {
  readonly set: TransformerSet;
  readonly file: FollowedFile;
  readonly reloads: ReloadMetrics;
}

const pollMs = 60_000;

export class EncryptionAtRest {
  readonly #options: EncryptionOptions;
  readonly #ports: LoadPorts;
  readonly #file: FollowedFile;
  readonly #reloads: ReloadMetrics;
  readonly #reader = new ConfigurationReader('encryption', parseEncryptionConfiguration);
  #current: TransformerSet;
  /** Replaced sets, kept until their calls to key services are over. */
  readonly #retired = new Map<TransformerSet, CancelTimer>();

  /** Rejects when the file cannot be read or is invalid; no error shows its content. */
  static async open(options: EncryptionOptions, ports: FollowedFilePorts): Promise<EncryptionAtRest> {
    const read = (): Promise<string> => readConfiguration(options.configFile);
    const text = await read();
    const loadPorts = { clock: ports.clock, logger: ports.logger, metrics: new EncryptionMetrics(ports.clock) };
    const set = await load(text, options, loadPorts);
    const reloads = new ReloadMetrics({ ...ports, what: 'encryption', hash: contentHash(text) });
    const what = 'encryption configuration';
    const file = new FollowedFile({ ...ports, what, metrics: reloads, pollMs, read, text });
    return new EncryptionAtRest({ set, file, reloads }, options, loadPorts);
  }

  private constructor({ set, file, reloads }: Opened, options: EncryptionOptions, ports: LoadPorts) {
    this.#current = set;
    this.#file = file;
    this.#reloads = reloads;
    this.#options = options;
    this.#ports = ports;
    // A refused file is tried again, because the failure may be caused by a key service.
    if (options.reloads === true) file.follow({ parse: (text) => text, apply: (text) => this.#replace(text) });
  }

  /** Returns the metrics in Prometheus' text format. */
  metrics(): string {
    return `${this.#ports.metrics.metrics()}${formatMetrics(this.#reloads.families())}`;
  }

  /** Returns a transformer that stays valid after the file is reloaded. */
  transformerFor({ group, resource }: GroupResource): Transformer {
    // Events of both groups are stored like those of the core group.
    const stored = { group: group === 'events.k8s.io' ? '' : group, resource };
    const find = (): Transformer => this.#current.find(stored);
    // The transformer that fetched the keys for these bytes: the file may be reloaded before they are decrypted.
    const prepared = new WeakMap<Uint8Array, Transformer>();
    return this.#ports.metrics.counted(stored, {
      fromStorage: (bytes, context) => {
        const present = find();
        try {
          return present.fromStorage(bytes, context);
        } catch (error) {
          const earlier = prepared.get(bytes) ?? present;
          if (earlier === present) throw error;
          return { ...earlier.fromStorage(bytes, context), isStale: true };
        }
      },
      toStorage: (bytes, context) => find().toStorage(bytes, context),
      prepare: (bytes) => {
        const present = find();
        if (present.prepare === undefined) return undefined;
        prepared.set(bytes, present);
        return present.prepare(bytes);
      },
    });
  }

  /** Returns no checks when there are no key services and none can be added by a reload. */
  get healthChecks(): readonly HealthCheck[] {
    if (this.#options.reloads !== true && !this.#current.hasKeyServices) return [];
    return [{ name: 'kms-providers', check: () => this.#current.check() }];
  }

  async close(): Promise<void> {
    this.#file.close();
    this.#current.close();
    for (const [set, cancel] of this.#retired) {
      cancel();
      set.close();
    }
    this.#retired.clear();
    await this.#reader.close();
  }

  /** Resolves to false when this is closed meanwhile. */
  async #replace(text: string): Promise<boolean> {
    const set = await load(text, this.#options, { ...this.#ports, parse: (changed) => this.#reader.read(changed) });
    const illness = await set.check();
    if (illness !== undefined || this.#file.isClosed) {
      set.close();
      if (illness !== undefined) throw illness;
      return false;
    }
    const old = this.#current;
    this.#current = set;
    const close = (): void => {
      this.#retired.delete(old);
      old.close();
    };
    this.#retired.set(old, this.#ports.clock.setBackgroundTimer(close, old.graceMs));
    return true;
  }
}

async function readConfiguration(file: string): Promise<string> {
  let text: string;
  try {
    text = await readLimitedFile(file, maxConfigurationBytes);
  } catch (error) {
    const why = messageOf(error);
    throw new Error(`${loading}error reading encryption provider configuration file "${file}": ${why}`, {
      cause: error,
    });
  }
  if (text === '') throw new Error(`${loading}encryption provider configuration file "${file}" is empty`);
  return text;
}

type ParseConfiguration = (text: string) => EncryptionConfiguration | Promise<EncryptionConfiguration>;

const parsing = 'error while parsing file: ';
const loading = `${parsing}error while loading file: `;

async function load(
  text: string,
  { configFile, reloads = false }: EncryptionOptions,
  { parse = parseEncryptionConfiguration, ...ports }: LoadPorts & { readonly parse?: ParseConfiguration },
): Promise<TransformerSet> {
  const configuration = await prefixed(
    `${parsing}error decoding encryption provider configuration file "${configFile}": `,
    () => parse(text),
  );
  const errors = encryptionConfigurationErrors(configuration, { reloads });
  if (errors.length > 0) throw new Error(`${parsing}${formatFieldErrors(errors)}`);
  const set = await prefixed('error while building transformers: ', () => new TransformerSet(configuration, ports));
  await set.start();
  return set;
}

async function prefixed<T>(prefix: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${prefix}${messageOf(error)}`, { cause: error });
  }
}
