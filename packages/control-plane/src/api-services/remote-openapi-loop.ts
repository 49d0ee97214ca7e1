// RemoteOpenApiLoop keeps the indexes of schemas (OpenAPI v3) of other API servers. The documents themselves are passed on
// when somebody asks for them. Part of aggregation.ts. Source: kube-aggregator controllers/openapiv3.
import { type Clock, type Logger, parseJson } from '@kapstan/api';
import { type ApiRegistrations, fetchRemote, readOpenApiIndex } from '@kapstan/apiserver';
import { schemaUser } from './aggregator-user.ts';
import { deadlineAfter } from './deadline.ts';
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
      const request = { path: '/openapi/v3', accept: 'application/json', user: schemaUser, maxBytes, signal };
      const { code, body } = await fetchRemote(server, request);
      // A server without schemas is no failure.
      if (code === 404) return refreshMs;
      if (code !== 200) throw new Error(`failed to retrieve the index of schemas of ${name}: status ${code}`);
      registrations.setOpenApi(name, readOpenApiIndex(parseJson(body.toString())));
      return refreshMs;
    } finally {
      cancel();
    }
  }
}
