// ServerInspection makes the documents of a server for the inspector: caches, watchers, requests, store, control loops. Names of Secrets are left out by
// the request log. Opened by server-inspector.ts.
import type { Clock } from '@kapstan/api';
import { formatGroupResource, safeErrorText } from '@kapstan/api/internal';
import type { LoggedRequest, OpenWatch, RequestLog } from '@kapstan/apiserver';
import type { InspectedResource } from '@kapstan/cacher';
import {
  type BehindWatch,
  type CacheSection,
  type Inspection,
  InspectionError,
  inspectorApiVersion,
  numberOf,
  type RequestItem,
  type RequestSection,
  type Sections,
  type Some,
  type StoreSection,
  someOf,
  type WatcherSection,
  type WatchingUser,
} from '@kapstan/inspector';
import type { Engine } from '@kapstan/storage';
import type { InspectedLoops } from '../control-loops/control-loops.ts';
import { statsOf } from '../store/store-pages.ts';
import { electionSection, type InspectionTimes, loopInformers, loopSections } from './loops-inspection.ts';

const limit = 20;
const maxCaches = 100;
const storeFreshMs = 5000;

/** Facts that are known only once the server listens. */
export interface InspectedServer {
  openWatches(): Iterable<OpenWatch>;
  readonly endedWatches: number;
}

export interface ServerInspectionOptions {
  readonly caches: () => readonly InspectedResource[];
  readonly engines: readonly Engine[];
  readonly requests: RequestLog;
  readonly loops: () => InspectedLoops;
  readonly server: () => InspectedServer | undefined;
  readonly clock: Clock;
}

export class ServerInspection implements Inspection {
  readonly subject = 'server';
  readonly name = 'kapstan';
  readonly documents: Inspection['documents'] = {
    caches: (query) => this.#page('CacheList', query, this.#caches()),
    users: (query) => this.#page('UserList', query, this.#users()),
    requests: (query) =>
      this.#page('RequestList', query, [...this.#options.requests.underWay.values()].map(this.#item)),
  };
  readonly #options: ServerInspectionOptions;
  /** Offset from monotonic times to wall clock times, as measured at the start. */
  readonly #epochMs: number;
  #stores: readonly StoreSection[] = [];
  #storesAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ServerInspectionOptions) {
    this.#options = options;
    this.#epochMs = options.clock.now() - options.clock.monotonicNow();
  }

  async sections(): Promise<Sections> {
    const { engines } = this.#options;
    await this.#readStores();
    const caches = this.#caches();
    const loops = this.#options.loops();
    const times: InspectionTimes = {
      nowMs: this.#options.clock.monotonicNow(),
      wall: (monotonicMs) => this.#wall(monotonicMs),
    };
    return {
      informers: loopInformers(loops, times),
      loops: loopSections(loops, times),
      election: loops.election && electionSection(loops.election, times),
      caches: someOf(caches, { limit: maxCaches, total: caches.length }),
      watchers: this.#watchers(),
      requests: this.#requests(),
      store: { total: engines.length, items: this.#stores },
    };
  }

  /** Returns a part of a row that is too long for the overview. */
  #page(kind: string, query: URLSearchParams, all: readonly unknown[]): unknown {
    const count = numberOf(query, 'limit', { min: 1, max: 500, otherwise: 100 });
    const from = numberOf(query, 'continue', { min: 0, max: 999_999_999, otherwise: 0 });
    if (from > all.length) throw new InspectionError(400, 'continue is beyond the end: begin again without it');
    const end = from + count;
    const next = end < all.length ? String(end) : undefined;
    return { apiVersion: inspectorApiVersion, kind, total: all.length, items: all.slice(from, end), continue: next };
  }

  #caches(): CacheSection[] {
    return this.#options
      .caches()
      .map(cacheSection)
      .sort((a, b) => b.objects - a.objects || (a.resource < b.resource ? -1 : 1));
  }

  #users(): WatchingUser[] {
    const users = new Map<string, { watches: number; waitingEvents: number; waitingBytes: number }>();
    for (const { userName, waitingEvents, waitingBytes } of this.#options.server()?.openWatches() ?? []) {
      const sums = users.get(userName) ?? { watches: 0, waitingEvents: 0, waitingBytes: 0 };
      sums.watches++;
      sums.waitingEvents += waitingEvents;
      sums.waitingBytes += waitingBytes;
      users.set(userName, sums);
    }
    return [...users]
      .map(([user, sums]) => ({ user, ...sums }))
      .sort((a, b) => b.waitingBytes - a.waitingBytes || b.watches - a.watches);
  }

  #watchers(): WatcherSection {
    const server = this.#options.server();
    const users = this.#users();
    return {
      users: someOf(users, { limit, total: users.length }),
      behind: this.#behind(server?.openWatches() ?? []),
      ended: server?.endedWatches ?? 0,
    };
  }

  #behind(watches: Iterable<OpenWatch>): Some<BehindWatch> {
    const behind: OpenWatch[] = [];
    for (const watch of watches) if (watch.waitingEvents > 0 || watch.blockedSinceMs !== undefined) behind.push(watch);
    behind.sort((a, b) => b.waitingBytes - a.waitingBytes);
    const items = behind
      .slice(0, limit)
      .map(({ userName: user, waitingEvents, waitingBytes, blockedSinceMs, ...of }) => {
        const blockedAt = blockedSinceMs === undefined ? undefined : this.#wall(blockedSinceMs);
        return { user, resource: formatGroupResource(of), waitingEvents, waitingBytes, blockedAt };
      });
    return { total: behind.length, items };
  }

  #requests(): RequestSection {
    const { underWay, slow } = this.#options.requests;
    return {
      underWay: someOf(this.#items(underWay.values()), { limit, total: underWay.size }),
      slow: { total: slow.total, items: slow.items.slice(0, limit).map(this.#request) },
    };
  }

  *#items(traces: Iterable<{ readonly request: LoggedRequest }>): Generator<RequestItem, void, undefined> {
    for (const trace of traces) yield this.#item(trace);
  }

  readonly #item = ({ request }: { readonly request: LoggedRequest }): RequestItem => this.#request(request);

  readonly #request = ({ startMs, durationMs, steps, ...request }: LoggedRequest): RequestItem => ({
    ...request,
    startedAt: this.#wall(startMs),
    durationMs: rounded(durationMs),
    steps: steps.map(({ step, durationMs: ms }) => ({ step, durationMs: rounded(ms) })),
  });

  /**
   * The numbers of a store may cost a request to etcd, so they are read only from time to time. For a store that does not answer, the last
   * ones are kept.
   */
  async #readStores(): Promise<void> {
    const { clock, engines } = this.#options;
    if (clock.monotonicNow() - this.#storesAtMs < storeFreshMs) return;
    this.#storesAtMs = clock.monotonicNow();
    const reading = Promise.all(engines.map((engine, index) => readStore(engine, index))).then((stores) => {
      this.#stores = stores;
    });
    if (this.#stores.length === 0) await reading.catch(() => undefined);
    else reading.catch(() => undefined);
  }

  #wall(monotonicMs: number): number {
    return Math.round(this.#epochMs + monotonicMs);
  }
}

async function readStore(engine: Engine, index: number): Promise<StoreSection> {
  const stats = Object.entries(await statsOf(engine)).filter(([, value]) => typeof value === 'number');
  return { name: index === 0 ? 'main' : `override ${index}`, numbers: Object.fromEntries(stats) };
}

function cacheSection({ group, resource, inspection }: InspectedResource): CacheSection {
  const { state, revision, objects, storedBytes, history, watchers, catchingUp, backlog, waiting, lastError } =
    inspection;
  return {
    resource: formatGroupResource({ group, resource }),
    state,
    revision,
    objects,
    storedBytes,
    history: history.size,
    historyCapacity: history.capacity,
    watchers,
    catchingUp,
    backlog,
    waitingReads: waiting,
    lastError: lastError === undefined ? undefined : safeErrorText(lastError),
  };
}

function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10;
}
