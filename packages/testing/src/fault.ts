// Fault: a failure that a test cluster can simulate, on the wire, in the server or below the watch caches. Faults applies each fault to
// connections and requests; the proxy, the server and the in-process client consult it.
import { inspect } from 'node:util';
import type { StatusError } from '@kapstan/api';
import { internalError, serviceUnavailable, tooManyRequests } from '@kapstan/api/errors';
import { requireNotNegative, requireObject } from '@kapstan/api/internal';
import type { Connection, ConnectionKind } from './connection.ts';

/** Selects the connections or requests that a fault affects: watches, or all others. */
export type FaultTarget = 'watch' | 'call';

/**
 * - `reset`: open connections are reset, once. In process, open watches and pending calls fail with ECONNRESET.
 * - `blackhole`: open connections carry nothing and stay open; with `connections: 'all'` later ones too.
 * - `slow`: everything that connections carry takes `delayMs` longer on the cluster's clock: each chunk over HTTP, each answer and event in
 * process.
 * - `refuse`: nobody listens: new connections, and in process calls and watches, fail with ECONNREFUSED.
 * - `429`, `500`, `503`: the server answers with this status, `times` times (default: until healed).
 * - `lag`: the watch caches see no change until healed, while writes continue: reads are stale.
 * - `410`: the history is lost, once: caches are filled again, and clients that resume from a version get 410.
 */
export type Fault =
  | { readonly kind: 'reset'; readonly match?: FaultTarget }
  | { readonly kind: 'blackhole'; readonly match?: FaultTarget; readonly connections?: 'present' | 'all' }
  | { readonly kind: 'slow'; readonly delayMs: number; readonly match?: FaultTarget }
  | { readonly kind: 'refuse' }
  | {
      readonly kind: '429' | '500' | '503';
      readonly match?: FaultTarget;
      /** Number of answers, at least 1. Default: until healed. */
      readonly times?: number;
      /** Retry-After of a 429, in seconds. Default 1. */
      readonly retryAfterSeconds?: number;
    }
  | { readonly kind: 'lag' }
  | { readonly kind: '410' };

/** A fault in effect. */
export interface ActiveFault {
  /** Ends the fault, so that held data continue. Does nothing for a fault that happened once. Idempotent. */
  heal(): Promise<void>;
}

type Standing = Extract<Fault, { kind: 'blackhole' | 'slow' | 'refuse' | '429' | '500' | '503' }>;
type Refusal = Extract<Fault, { kind: '429' | '500' | '503' }>;

/** The faults that affect connections and requests, and the connections that they affect. */
export class Faults {
  readonly #connections = new Set<Connection>();
  readonly #standing = new Map<Standing, { timesLeft: number }>();

  /** Adds a fault. Throws TypeError for values out of range. */
  add(fault: Exclude<Fault, { kind: 'lag' | '410' }>): ActiveFault {
    if (fault.kind === 'reset') {
      for (const connection of this.#select(fault.match)) connection.cut();
      return { heal: async () => undefined };
    }
    this.#standing.set(fault, { timesLeft: checkedTimes(fault) });
    if (fault.kind === 'slow') this.#updateDelays();
    const held = fault.kind === 'blackhole' ? this.#select(fault.match) : [];
    for (const connection of held) connection.hold();
    return {
      heal: async () => {
        this.#standing.delete(fault);
        if (fault.kind === 'slow') this.#updateDelays();
        if (fault.kind === 'blackhole') for (const connection of this.#released(fault, held)) connection.release();
      },
    };
  }

  /** True while connections are to be refused. */
  get isRefusing(): boolean {
    return [...this.#standing.keys()].some(({ kind }) => kind === 'refuse');
  }

  /** Registers a new connection. The returned function removes it. */
  open(connection: Connection): () => void {
    this.#connections.add(connection);
    this.classified(connection);
    return () => {
      this.#connections.delete(connection);
    };
  }

  /** Applies the active faults to a connection whose kind is now known. */
  classified(connection: Connection): void {
    connection.delayMs = this.#delayOf(connection);
    for (const fault of this.#standing.keys()) {
      if (fault.kind === 'blackhole' && fault.connections === 'all' && matches(fault.match, connection.kind)) {
        connection.hold();
      }
    }
  }

  /** Throws the error that the server is to answer with, if a fault demands one. */
  refuse(kind: FaultTarget): void {
    for (const [fault, state] of this.#standing) {
      if (!isRefusal(fault) || !matches(fault.match, kind)) continue;
      state.timesLeft--;
      if (state.timesLeft === 0) this.#standing.delete(fault);
      throw refusalOf(fault);
    }
  }

  #select(match: FaultTarget | undefined): readonly Connection[] {
    return [...this.#connections].filter(({ kind }) => matches(match, kind));
  }

  #released(fault: Extract<Fault, { kind: 'blackhole' }>, held: readonly Connection[]): readonly Connection[] {
    return fault.connections === 'all' ? this.#select(fault.match) : held;
  }

  #updateDelays(): void {
    for (const connection of this.#connections) connection.delayMs = this.#delayOf(connection);
  }

  #delayOf({ kind }: Connection): number {
    let delayMs = 0;
    for (const fault of this.#standing.keys()) {
      if (fault.kind === 'slow' && matches(fault.match, kind)) delayMs = Math.max(delayMs, fault.delayMs);
    }
    return delayMs;
  }
}

function matches(match: FaultTarget | undefined, kind: ConnectionKind): boolean {
  return match === undefined || match === kind;
}

function isRefusal(fault: Standing): fault is Refusal {
  return fault.kind === '429' || fault.kind === '500' || fault.kind === '503';
}

function refusalOf(fault: Refusal): StatusError {
  switch (fault.kind) {
    case '429':
      return tooManyRequests('Too many requests, please try again later.', fault.retryAfterSeconds ?? 1);
    case '500':
      return internalError('a fault of the test');
    case '503':
      return serviceUnavailable('a fault of the test');
  }
}

/** The members that each kind of fault may have. */
const members: ReadonlyMap<string, readonly string[]> = new Map([
  ['reset', ['match']],
  ['blackhole', ['match', 'connections']],
  ['slow', ['match', 'delayMs']],
  ['refuse', []],
  ['429', ['match', 'times', 'retryAfterSeconds']],
  ['500', ['match', 'times', 'retryAfterSeconds']],
  ['503', ['match', 'times', 'retryAfterSeconds']],
  ['lag', []],
  ['410', []],
]);

/**
 * Throws TypeError for an unknown kind, for a member that the kind does not have, and for an invalid value, because a fault without effect
 * would let a test pass.
 */
export function requireFault(fault: Fault): void {
  requireObject(fault, "a fault, such as { kind: 'reset' },");
  const { kind, ...rest } = fault;
  const own = members.get(kind);
  if (own === undefined)
    throw new TypeError(`unknown fault kind ${inspect(kind)}; must be one of ${[...members.keys()].join(', ')}`);
  const given = Object.entries(rest).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    if (!own.includes(name)) throw new TypeError(`a fault ${kind} has no ${name}`);
    if (name === 'match' && value !== 'watch' && value !== 'call')
      throw new TypeError(`match must be 'watch' or 'call', not ${inspect(value)}`);
    if (name === 'connections' && value !== 'present' && value !== 'all')
      throw new TypeError(`connections must be 'present' or 'all', not ${inspect(value)}`);
    if (name === 'retryAfterSeconds') requireNotNegative(value, name);
  }
}

function checkedTimes(fault: Standing): number {
  const times = isRefusal(fault) ? (fault.times ?? Number.POSITIVE_INFINITY) : 1;
  if (typeof times !== 'number' || !(times >= 1))
    throw new TypeError(`times must be at least 1, not ${inspect(times)}`);
  if (fault.kind === 'slow') requireNotNegative(fault.delayMs, 'delayMs');
  return times;
}
