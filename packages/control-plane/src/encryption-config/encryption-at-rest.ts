// EncryptionAtRest holds the transformers that --encryption-provider-config defines for each resource, and reloads the file when it
// changes, if asked to. Opened by control-plane.ts. Source: apiserver server/options/encryptionconfig and its controller.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { CancelTimer, Clock, GroupResource, Logger } from '@kapstan/api';
import { formatFieldErrors } from '@kapstan/api/errors';
import type { HealthCheck } from '@kapstan/apiserver';
import type { Transformer } from '@kapstan/storage';
import { parseEncryptionConfiguration } from './configuration.ts';
import { encryptionConfigurationErrors } from './configuration-rules.ts';
import { EncryptionMetrics } from './encryption-metrics.ts';
import { TransformerSet } from './transformer-set.ts';

export interface EncryptionOptions {
  /** An EncryptionConfiguration of apiserver.config.k8s.io/v1, as YAML or JSON. */
  readonly configFile: string;
  /**
   * Checks the file once a minute and reloads it when it has changed; a file with errors is logged and the old configuration stays. Default
   * false.
   */
  readonly reloads?: boolean;
}

interface Loaded {
  /** Hash of the file. The file itself is not kept because it holds keys. */
  readonly hash: string;
  readonly set: TransformerSet;
}

interface LoadPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: EncryptionMetrics;
}

const pollMs = 60_000;

export class EncryptionAtRest {
  readonly metrics: EncryptionMetrics;
  readonly #options: EncryptionOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #current: Loaded;
  #cancelPoll: CancelTimer = () => undefined;
  /** Replaced sets, kept until their calls to key services are over. */
  readonly #retired = new Map<TransformerSet, CancelTimer>();
  #isClosed = false;

  /** Rejects when the file cannot be read or is invalid; no error shows its content. */
  static async open(
    options: EncryptionOptions,
    ports: { readonly clock: Clock; readonly logger: Logger },
  ): Promise<EncryptionAtRest> {
    const { hash, text } = await readConfiguration(options.configFile);
    const metrics = new EncryptionMetrics(ports.clock);
    const set = await load(text, options, { ...ports, metrics });
    return new EncryptionAtRest({ hash, set }, options, { ...ports, metrics });
  }

  private constructor(loaded: Loaded, options: EncryptionOptions, { clock, logger, metrics }: LoadPorts) {
    this.metrics = metrics;
    this.#current = loaded;
    this.#options = options;
    this.#clock = clock;
    this.#logger = logger;
    if (options.reloads === true) this.#arm();
  }

  /** Returns a transformer that stays valid after the file is reloaded. */
  transformerFor({ group, resource }: GroupResource): Transformer {
    // Events of both groups are stored as those of the core group.
    const stored = { group: group === 'events.k8s.io' ? '' : group, resource };
    const find = (): Transformer => this.#current.set.find(stored);
    // The transformer that fetched the keys for these bytes: the file may be reloaded before they are decrypted.
    const prepared = new WeakMap<Uint8Array, Transformer>();
    return this.metrics.counted(stored, {
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
    if (this.#options.reloads !== true && !this.#current.set.hasKeyServices) return [];
    return [{ name: 'kms-providers', check: () => this.#current.set.check() }];
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPoll();
    this.#current.set.close();
    for (const [set, cancel] of this.#retired) {
      cancel();
      set.close();
    }
    this.#retired.clear();
  }

  #arm(): void {
    this.#cancelPoll = this.#clock.setBackgroundTimer(() => void this.#reload(), pollMs);
  }

  async #reload(): Promise<void> {
    try {
      const { hash, text } = await readConfiguration(this.#options.configFile);
      if (hash !== this.#current.hash) await this.#replace(hash, text);
    } catch (error) {
      this.metrics.onReload('failure');
      this.#logger.error('could not reload the encryption configuration; the old one stays in use', {
        error: error instanceof Error ? error.message : String(error),
      });
    }
    if (!this.#isClosed) this.#arm();
  }

  async #replace(hash: string, text: string): Promise<void> {
    const set = await load(text, this.#options, {
      clock: this.#clock,
      logger: this.#logger,
      metrics: this.metrics,
    });
    const illness = await set.check();
    if (illness !== undefined || this.#isClosed) {
      set.close();
      if (illness !== undefined) throw illness;
      return;
    }
    const old = this.#current.set;
    this.#current = { hash, set };
    this.#retired.set(
      old,
      this.#clock.setBackgroundTimer(() => {
        this.#retired.delete(old);
        old.close();
      }, old.graceMs),
    );
    this.metrics.onReload('success');
    this.#logger.info('reloaded the encryption configuration');
  }
}

async function readConfiguration(file: string): Promise<{ readonly hash: string; readonly text: string }> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${loading}error reading encryption provider configuration file "${file}": ${why}`, {
      cause: error,
    });
  }
  if (bytes.length === 0) throw new Error(`${loading}encryption provider configuration file "${file}" is empty`);
  return { hash: createHash('sha256').update(bytes).digest('hex'), text: bytes.toString() };
}

const parsing = 'error while parsing file: ';
const loading = `${parsing}error while loading file: `;

async function load(
  text: string,
  { configFile, reloads = false }: EncryptionOptions,
  ports: LoadPorts,
): Promise<TransformerSet> {
  const configuration = prefixed(
    `${parsing}error decoding encryption provider configuration file "${configFile}": `,
    () => parseEncryptionConfiguration(text),
  );
  const errors = encryptionConfigurationErrors(configuration, { reloads });
  if (errors.length > 0) throw new Error(`${parsing}${formatFieldErrors(errors)}`);
  const set = prefixed('error while building transformers: ', () => new TransformerSet(configuration, ports));
  await set.start();
  return set;
}

function prefixed<T>(prefix: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Error(`${prefix}${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
