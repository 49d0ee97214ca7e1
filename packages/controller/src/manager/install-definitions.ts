// Installs the definitions of a program's own resources and waits until their objects are served. Used by the manager.

import {
  type Clock,
  type DeepReadonly,
  type DefinedResource,
  delay,
  isStatusError,
  type Logger,
  type ResourceClient,
  retryAfterSeconds,
  systemClock,
} from '@kapstan/api';
import {
  Backoff,
  checkedElsewhere,
  isDefinedResource,
  type OptionTable,
  optional,
  requireNotNegative,
  requireSignal,
} from '@kapstan/api/internal';
import { type InformerEvent, SharedInformer } from '@kapstan/informers';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { isOfClosedClient } from '../cache/cache-problem.ts';
import { guardedLogger } from '../guards/guarded-logger.ts';
import { requirePartOptions } from '../guards/part-options.ts';
import { warningLogger } from '../guards/warning-logger.ts';

/** Options of {@link installDefinitions}. */
export interface InstallDefinitionsOptions {
  readonly client: ResourceClient;
  /** Field manager of the definitions' fields. */
  readonly fieldManager: string;
  readonly clock?: Clock;
  /** Receives failures to apply, list or watch the definitions, which are retried. Default: process warnings. */
  readonly logger?: Logger;
  /** Time after which it gives up with the last error, in milliseconds. 0 (default) = never. */
  readonly timeoutMs?: number;
  /** Aborts the installation; the promise rejects with its reason. */
  readonly signal?: AbortSignal;
}

const table: OptionTable<InstallDefinitionsOptions> = {
  client: checkedElsewhere,
  fieldManager: checkedElsewhere,
  clock: checkedElsewhere,
  logger: checkedElsewhere,
  timeoutMs: optional(requireNotNegative),
  signal: requireSignal,
};

/** As for the informers, a server that is away is asked for definitions as often as for objects. */
const pauses = { initialMs: 800, maxMs: 30_000, factor: 2, jitter: 0, resetAfterMs: 0 } as const;

/**
 * Applies the definitions and resolves when all are established. It retries while the server cannot be reached, fails
 * or is overloaded. Rejects when a definition is refused, when its names are taken by another one, when the time is
 * over, and when the signal aborts.
 *
 * @example
 * ```ts
 * import { defineResource } from '@kapstan/api';
 * import { connect } from '@kapstan/client';
 * import { installDefinitions } from '@kapstan/controller';
 *
 * const Site = defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec: { type: 'object' } });
 * await installDefinitions([Site], { client: await connect(), fieldManager: 'sites' });
 * ```
 */
export async function installDefinitions(
  resources: readonly DefinedResource[],
  options: InstallDefinitionsOptions,
): Promise<void> {
  requirePartOptions(options, table, 'installDefinitions()');
  const { clock = systemClock, timeoutMs = 0, signal } = options;
  const logger = guardedLogger(options.logger ?? warningLogger);
  for (const resource of resources)
    if (!isDefinedResource(Object(resource)))
      throw new TypeError(
        'installDefinitions() takes resources made with defineResource(), because others have no definition',
      );
  const over = new AbortController();
  const cancel = timeoutMs === 0 ? () => undefined : clock.setTimer(() => over.abort(), timeoutMs);
  const ends = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  const installations = resources.map(
    (resource) => new Installation(resource, { ...options, clock, logger, signal: ends }),
  );
  try {
    await Promise.all(installations.map((installation) => installation.run()));
  } catch (error) {
    if (!over.signal.aborted || signal?.aborted) throw error;
    const problem = installations.map((installation) => installation.problem).find((text) => text !== undefined);
    const why = problem === undefined ? '' : `: ${problem}`;
    throw new Error(`timed out after ${timeoutMs} ms waiting for definitions to be installed${why}`, { cause: error });
  } finally {
    cancel();
    // One definition was refused, so the others must not continue unnoticed.
    over.abort();
  }
}

type InstallationOptions = InstallDefinitionsOptions &
  Required<Pick<InstallDefinitionsOptions, 'clock' | 'logger' | 'signal'>>;

class Installation {
  readonly #definition: DefinedResource['definition'];
  readonly #options: InstallationOptions;
  /** The last error of applying the definition. */
  problem: string | undefined;

  constructor({ definition }: DefinedResource, options: InstallationOptions) {
    this.#definition = definition;
    this.#options = options;
  }

  async run(): Promise<void> {
    await this.#apply();
    const { client, clock, logger, signal } = this.#options;
    await using informer = new SharedInformer(client.listerWatcher(CustomResourceDefinition), {
      resource: CustomResourceDefinition,
      fieldSelector: `metadata.name=${this.#definition.metadata.name}`,
      clock,
      logger,
    });
    informer.start();
    for await (const event of informer.watchEvents({ signal })) {
      if (isEstablished(event)) return;
    }
    signal.throwIfAborted();
  }

  async #apply(): Promise<void> {
    const { client, fieldManager, clock, logger, signal } = this.#options;
    const definition = this.#definition as CustomResourceDefinition;
    const backoff = new Backoff(pauses, { clock });
    for (;;) {
      try {
        await client.apply(CustomResourceDefinition, definition, { fieldManager, force: true, signal });
        this.problem = undefined;
        return;
      } catch (error) {
        if (signal.aborted || !isPassing(error)) throw error;
        const { name } = this.#definition.metadata;
        const text = error.message;
        if (text !== this.problem) logger.warn(`failed to apply the definition ${name}, trying again: ${text}`);
        this.problem = text;
        await delay(clock, Math.max(backoff.next(), (retryAfterSeconds(error) ?? 0) * 1000), signal);
      }
    }
  }
}

/**
 * True when the server was not reached, failed or asked for a later retry. An error with a code but without a status
 * failed below HTTP.
 */
function isPassing(error: unknown): error is Error {
  if (isStatusError(error)) return error.code === 429 || error.code >= 500;
  if (isOfClosedClient(error)) return false;
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return error instanceof Error && !(error instanceof TypeError) && typeof code === 'string';
}

/** Throws Error when the names are not accepted. */
function isEstablished(event: InformerEvent<CustomResourceDefinition>): boolean {
  if (event.type !== 'added' && event.type !== 'updated') return false;
  const conditions = (event.object as DeepReadonly<CustomResourceDefinition>).status?.conditions ?? [];
  const refusal = conditions.find(({ type, status }) => type === 'NamesAccepted' && status === 'False');
  if (refusal !== undefined)
    throw new Error(
      `the definition ${event.key} is not served: ${refusal.message ?? refusal.reason ?? 'names refused'}`,
    );
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}
