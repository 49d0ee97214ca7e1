// RemoteDiscoveryLoop keeps the resources that other API servers report, for aggregated discovery. Servers of several group versions are
// asked once for all of them. Part of aggregation.ts. Source: kube-aggregator handler_discovery.go.
import type { Clock, Logger } from '@kapstan/api';
import {
  type ApiRegistrations,
  fetchRemote,
  type RemoteDiscovery,
  type RemoteDocument,
  type RemoteServer,
  readGroupDiscovery,
  readResourceList,
} from '@kapstan/apiserver';
import { aggregatorUser } from './aggregator-user.ts';
import { deadlineAfter } from './deadline.ts';
import { parsedInTurns } from './parsed-in-turns.ts';
import { RemoteLoop } from './remote-loop.ts';

export interface RemoteDiscoveryLoopOptions {
  readonly registrations: ApiRegistrations;
  /** Resolves when the addresses of Services are known. */
  readonly whenEndpointsKnown: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Resources = RemoteDiscovery['resources'];

/** The document that a server sent for all its group versions. */
interface Known {
  readonly found: ReadonlyMap<string, Resources>;
  readonly etag: string;
  /** The time when the document was requested. */
  readonly askedMs: number;
}

const refreshMs = 60_000;
const requestTimeoutMs = 5_000;
/** The largest clusters have a few hundred kilobytes. */
const maxBytes = 4 * 1024 * 1024;
const acceptAll =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

export class RemoteDiscoveryLoop {
  readonly #options: RemoteDiscoveryLoopOptions;
  readonly #loop: RemoteLoop;
  /** Documents by Service. */
  readonly #known = new Map<string, Known>();
  /** The time when each APIService last changed, by name. Documents requested earlier do not count. */
  readonly #changedMs = new Map<string, number>();

  constructor(options: RemoteDiscoveryLoopOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#loop = new RemoteLoop({
      name: 'discovery-manager',
      backoff: { baseMs: 500, maxMs: refreshMs },
      workers: 2,
      visit: (name, signal) => this.#visit(name, signal),
      clock,
      logger,
    });
  }

  /** Asks the server of an APIService that was added or changed. */
  changed(name: string): void {
    this.#changedMs.set(name, this.#options.clock.monotonicNow());
    this.#loop.add(name);
  }

  removed(name: string): void {
    this.#changedMs.delete(name);
    const used = new Set([...this.#options.registrations.servers].map(keyOf));
    for (const key of this.#known.keys()) if (!used.has(key)) this.#known.delete(key);
  }

  start(): void {
    this.#loop.start();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  async #visit(name: string, signal: AbortSignal): Promise<number | undefined> {
    const { registrations, clock, whenEndpointsKnown } = this.#options;
    await whenEndpointsKnown();
    const server = registrations.serverOf(name);
    if (server === undefined) return undefined;
    try {
      const resources = await this.#resourcesOf(server, signal);
      registrations.setDiscovery(name, { resources, isCurrent: true });
    } catch (error) {
      if (!signal.aborted) registrations.setDiscovery(name, { resources: [], isCurrent: false });
      throw error;
    }
    // Documents requested from now on are newer than this time.
    this.#changedMs.set(name, clock.monotonicNow());
    return refreshMs;
  }

  async #resourcesOf(server: RemoteServer, signal: AbortSignal): Promise<Resources> {
    const { group, version, name } = server.registration;
    const known = this.#known.get(keyOf(server));
    const isNewer = known !== undefined && known.askedMs > (this.#changedMs.get(name) ?? 0);
    const all = isNewer ? known.found : await this.#askForAll(server, known, signal);
    if (all !== undefined) return all.get(`${group}/${version}`) ?? [];
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const { code, body } = await this.#fetch(server, { path, accept: 'application/json' }, signal);
    if (code !== 200) throw new Error(`failed to download legacy discovery for ${path}: status ${code}`);
    return readResourceList(await parsedInTurns(body));
  }

  /** Returns undefined for a server that speaks only the old form. */
  async #askForAll(
    server: RemoteServer,
    known: Known | undefined,
    signal: AbortSignal,
  ): Promise<Known['found'] | undefined> {
    const askedMs = this.#options.clock.monotonicNow();
    const request = { path: '/apis', accept: acceptAll, etag: known?.etag };
    const { code, contentType, etag, body } = await this.#fetch(server, request, signal);
    if (code === 304 && known !== undefined) {
      this.#known.set(keyOf(server), { ...known, askedMs });
      return known.found;
    }
    if (code === 503) throw new Error(`service ${keyOf(server)} returned non-success response code: 503`);
    if (code !== 200 || !/as=APIGroupDiscoveryList/.test(contentType)) return undefined;
    const found = readGroupDiscovery(await parsedInTurns(body));
    this.#known.set(keyOf(server), { found, etag, askedMs });
    return found;
  }

  async #fetch(
    server: RemoteServer,
    request: { readonly path: string; readonly accept: string; readonly etag?: string | undefined },
    signal: AbortSignal,
  ): Promise<RemoteDocument> {
    const limit = deadlineAfter(requestTimeoutMs, { clock: this.#options.clock, signal, text: 'request timed out' });
    try {
      return await fetchRemote(server, { ...request, user: aggregatorUser, maxBytes, signal: limit.signal });
    } finally {
      limit.cancel();
    }
  }
}

function keyOf({ remote: { service } }: RemoteServer): string {
  return `${service.namespace}/${service.name}:${service.port}`;
}
