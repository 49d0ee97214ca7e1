// RemoteOpenApiLoop keeps the schemas that other API servers publish: the indexes of OpenAPI v3, whose documents are passed on when
// requested, and their parts of OpenAPI v2. Part of aggregation.ts. Source: kube-aggregator controllers/openapiv3, controllers/openapi.
import { createHash } from 'node:crypto';
import type { Clock, Logger } from '@kapstan/api';
import { stringifyInSlices } from '@kapstan/api/internal';
import {
  type ApiRegistrations,
  convertOpenApi,
  fetchRemote,
  type RemoteServer,
  readOpenApiIndex,
  readRemoteSwagger,
  rootPathOf,
} from '@kapstan/apiserver';
import { runInTurns } from '@kapstan/storage';
import { schemaUser } from './aggregator-user.ts';
import { deadlineAfter } from './deadline.ts';
import { parsedInTurns } from './parsed-in-turns.ts';
import { RemoteLoop } from './remote-loop.ts';

export interface RemoteOpenApiLoopOptions {
  readonly registrations: ApiRegistrations;
  /** Resolves when the addresses of Services are known. */
  readonly whenEndpointsKnown: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const refreshMs = 60_000;
const firstMs = 1_000;
const requestTimeoutMs = 60_000;
const maxBytes = 4 * 1024 * 1024;

export class RemoteOpenApiLoop {
  readonly #options: RemoteOpenApiLoopOptions;
  readonly #loop: RemoteLoop;
  /** Hashes of the documents of OpenAPI v2, by APIService. Most are the same every minute. */
  readonly #swaggers = new Map<string, string>();

  constructor(options: RemoteOpenApiLoopOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#loop = new RemoteLoop({
      name: 'open_api_v3_aggregation_controller',
      backoff: { baseMs: refreshMs, maxMs: 3_600_000 },
      workers: 1,
      visit: (name, signal) => this.#visit(name, signal),
      clock,
      logger,
    });
  }

  added(name: string): void {
    this.#swaggers.delete(name);
    this.#loop.add(name, firstMs);
  }

  changed(name: string): void {
    this.#loop.retry(name, firstMs);
  }

  start(): void {
    this.#loop.start();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  async #visit(name: string, stop: AbortSignal): Promise<number | undefined> {
    const { registrations, clock, whenEndpointsKnown } = this.#options;
    await whenEndpointsKnown();
    const server = registrations.serverOf(name);
    if (server === undefined) return undefined;
    if (!server.isAvailable) throw new Error(`the API server of ${name} is not available`);
    const { signal, cancel } = deadlineAfter(requestTimeoutMs, { clock, signal: stop, text: 'request timed out' });
    try {
      const index = await this.#fetch(server, '/openapi/v3', signal);
      if (index !== undefined) registrations.setOpenApi(name, readOpenApiIndex(await parsedInTurns(index)));
      await this.#fetchSwagger(server, index === undefined, signal);
      return refreshMs;
    } finally {
      cancel();
    }
  }

  /** `isConverted` = its OpenAPI v3 document is made from its v2 document. */
  async #fetchSwagger(server: RemoteServer, isConverted: boolean, signal: AbortSignal): Promise<void> {
    const { registrations } = this.#options;
    const { name } = server.registration;
    const known = isConverted && !registrations.hasConverted(name) ? undefined : this.#swaggers.get(name);
    const document = await this.#fetch(server, '/openapi/v2', signal);
    if (document === undefined) return;
    const hash = createHash('sha256').update(document).digest('base64');
    if (known === hash) return;
    const parsed = await parsedInTurns(document);
    const part = await runInTurns(readRemoteSwagger(parsed, rootPathOf(server.registration)));
    registrations.setSwagger(name, part, hash);
    if (isConverted) {
      const text = await runInTurns(stringifyInSlices(await runInTurns(convertOpenApi(parsed))));
      const digest = createHash('sha512').update(document).digest('hex').toUpperCase();
      registrations.setConverted(name, { hash: digest, json: Buffer.from(text) });
    }
    this.#swaggers.set(name, hash);
  }

  /** Returns undefined for a server without the document, which does not count as a failure. */
  async #fetch(server: RemoteServer, path: string, signal: AbortSignal): Promise<Buffer | undefined> {
    const request = { path, accept: 'application/json', user: schemaUser, maxBytes, signal };
    const { code, body } = await fetchRemote(server, request);
    if (code === 404) return undefined;
    if (code !== 200) throw new Error(`failed to retrieve the schemas of ${server.registration.name}: status ${code}`);
    return body;
  }
}
