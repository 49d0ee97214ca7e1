// WorkEstimator estimates how many seats a request takes: lists and watches by the objects that they read, writes by the watches that they
// have to be delivered to. Used by flow-control.ts. Source: util/flowcontrol/request (1.36, SizeBasedListCostEstimate).
import type { FlowTarget } from './flow-schema.ts';
import type { WatchTracker } from './watch-tracker.ts';
import { oneSeat, type WorkEstimate } from './work-estimate.ts';

type ResourceTarget = Extract<FlowTarget, { type: 'resource' }>;

/** Number and size of the objects of a resource, from which the work of a list is estimated. */
export interface ObjectStats {
  readonly objectCount: number;
  /** 0 when unknown. */
  readonly averageObjectBytes: number;
}

export interface WorkEstimatorPorts {
  /** Returns how many objects of a resource are stored. Undefined = unknown; 'stale' = they could not be counted for a while. */
  readonly statsOf: (of: { readonly group: string; readonly resource: string }) => ObjectStats | 'stale' | undefined;
  readonly watches: WatchTracker;
  /** Resources and subresources ("widgets/token") whose writes reach no watch. */
  readonly withoutEvents: ReadonlySet<string>;
}

export interface EstimatedWork extends WorkEstimate {
  /** Watches that a write is delivered to; undefined for other requests. */
  readonly watchCount?: number | undefined;
}

const bytesPerSeat = 100_000;
/** Maximum number of bytes that a list from the cache holds at a time, because it is streamed. */
const cachedListBytes = 1_000_000;
const maxObjectBytes = 1_500_000;
const infiniteCount = 1_000_000_000;
const maxListSeats = 100;
const maxWriteSeats = 10;
const watchesPerSeat = 10;
/** Time for which the delivery of an event to ten watches takes a seat. */
const eventMs = 5;

export class WorkEstimator {
  readonly #ports: WorkEstimatorPorts;

  constructor(ports: WorkEstimatorPorts) {
    this.#ports = ports;
  }

  /** `widest` bounds the seats; undefined = only the bounds of the estimator count. */
  estimate(target: FlowTarget, query: URLSearchParams, widest: number | undefined): EstimatedWork {
    if (target.type === 'path') return oneSeat;
    switch (target.verb) {
      case 'list':
      case 'watch':
        return this.#read(target, query, Math.min(widest ?? maxListSeats, maxListSeats));
      case 'create':
      case 'update':
      case 'patch':
      case 'delete':
        return this.#write(target, Math.min(widest ?? maxWriteSeats, maxWriteSeats));
      default:
        return oneSeat;
    }
  }

  #read(target: ResourceTarget, query: URLSearchParams, most: number): WorkEstimate {
    const limit = wholeNumber(query.get('limit'));
    // Such a request will be refused; until then it counts as wide.
    if (limit === undefined || wholeNumber(query.get('timeoutSeconds')) === undefined) return seats(most);
    const isWatch = target.verb === 'watch';
    if (isWatch && !sendsState(query)) return oneSeat;
    const known = this.#ports.statsOf(target);
    if (known === undefined) return oneSeat;
    const stats = known === 'stale' ? { objectCount: infiniteCount, averageObjectBytes: maxObjectBytes } : known;
    const isCached = isWatch || isServedFromCache(query, limit);
    const bytes = objectsRead(target, query, { stats, limit, isCached }) * averageBytes(stats);
    const atOnce = isCached ? Math.min(bytes, cachedListBytes) : bytes;
    return seats(Math.max(1, Math.min(most, Math.ceil(atOnce / bytesPerSeat))));
  }

  #write(target: ResourceTarget, most: number): EstimatedWork {
    const { withoutEvents, watches } = this.#ports;
    if (target.subresource !== '' && withoutEvents.has(`${target.resource}/${target.subresource}`)) return oneSeat;
    const watchCount = watches.interestedIn(target);
    if (watchCount < watchesPerSeat) return watchCount === 0 ? oneWrite : { ...oneSeat, watchCount };
    const wanted = Math.ceil(watchCount / watchesPerSeat);
    const finalSeats = Math.min(wanted, most);
    // The work stays the same; fewer seats are held for longer.
    return { initialSeats: 1, finalSeats, lingerMs: (wanted * eventMs) / finalSeats, watchCount };
  }
}

const oneWrite: EstimatedWork = { ...oneSeat, watchCount: 0 };
/** Estimates by their seats: there are few, so each is made once. */
const estimates: readonly WorkEstimate[] = Array.from({ length: maxListSeats + 1 }, (_, count) => ({
  ...oneSeat,
  initialSeats: count,
}));

function seats(count: number): WorkEstimate {
  return estimates[count] ?? oneSeat;
}

/** Returns 0 for an absent value, and undefined for text that is not a whole number. */
function wholeNumber(text: string | null): number | undefined {
  if (text === null || text === '') return 0;
  return /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
}

/** True if a watch begins with the state, as a list does. */
function sendsState(query: URLSearchParams): boolean {
  const version = query.get('resourceVersion') ?? '';
  if (version === '' || version === '0') return true;
  const asked = query.get('sendInitialEvents');
  return asked !== null && asked !== '0' && asked.toLowerCase() !== 'false';
}

/** Source: storage/cacher/delegator ShouldDelegateListMeta, with consistent reads from the cache. */
function isServedFromCache(query: URLSearchParams, limit: number): boolean {
  const version = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  if (match === 'NotOlderThan') return true;
  if (match !== '') return false;
  if ((query.get('continue') ?? '') !== '') return false;
  return !(limit > 0 && version !== '' && version !== '0');
}

interface ReadFacts {
  readonly stats: ObjectStats;
  readonly limit: number;
  readonly isCached: boolean;
}

function objectsRead(target: ResourceTarget, query: URLSearchParams, { stats, limit, isCached }: ReadFacts): number {
  if (target.name !== '') return 1;
  const limited = limit > 0 ? Math.min(limit, stats.objectCount) : stats.objectCount;
  if (isCached) return limited;
  const hasSelector = (query.get('fieldSelector') ?? '') !== '' || (query.get('labelSelector') ?? '') !== '';
  return hasSelector ? Math.max(limited, Math.floor(stats.objectCount / 2)) : limited;
}

function averageBytes({ objectCount, averageObjectBytes }: ObjectStats): number {
  return averageObjectBytes <= 0 && objectCount !== 0 ? maxObjectBytes : averageObjectBytes;
}
