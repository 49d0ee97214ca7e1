// LeaderElector: of several processes one works, the holder of a Lease. Decisions are in leader-record.ts; used by the
// manager. Source: client-go tools/leaderelection; stricter about when a leader stops.

import { type CallOptions, type CancelTimer, delay, isConflict, isNotFound } from '@kapstan/api';
import { guardedCall } from '@kapstan/api/internal';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import {
  jitterFactor,
  type LeaderElectorOptions,
  type ResolvedLeaderElectorOptions,
  resolveLeaderElectorOptions,
} from './leader-election-options.ts';
import {
  type Claim,
  claimed,
  holderOf,
  isFree,
  newLease,
  type Observation,
  observe,
  released,
} from './leader-record.ts';

/** The right to work was lost: somebody else holds the Lease, or it could not be renewed in time. */
export class LeadershipLostError extends Error {
  constructor(message = 'leader election lost') {
    super(message);
    this.name = 'LeadershipLostError';
  }
}

type Work = (term: AbortSignal) => Promise<void>;
type LimitedCall = Required<CallOptions>;

/** The time as a leader. */
interface Term {
  readonly abort: AbortController;
  /** When the request began whose success last renewed the Lease. */
  renewedAtMs: number;
  cancelDeadline: CancelTimer;
}

/**
 * Candidate, then leader, then over: used once. A leader goes by the start of its last successful renewal: from
 * `renewDeadlineMs` after it, it does not count as one, whatever else this process was doing or however long it was paused.
 * Others wait `leaseDurationMs` from when they saw that renewal, which was later. So there are never two.
 */
export class LeaderElector {
  readonly #options: ResolvedLeaderElectorOptions;
  #observed: Observation | undefined;
  #term: Term | undefined;
  readonly #lost = new AbortController();
  #hasWritten = false;
  #toldFailure: string | undefined;
  #isStarted = false;

  /** Throws TypeError on bad options. */
  constructor(options: LeaderElectorOptions) {
    this.#options = resolveLeaderElectorOptions(options);
  }

  get identity(): string {
    return this.#options.identity;
  }

  /** Who holds the Lease, as last seen; "" = nobody or unknown. */
  get leader(): string {
    return holderOf(this.#observed);
  }

  /** Whether this process may work at this very moment. Where it has ceased to, the term's signal aborts before this returns. */
  get isLeader(): boolean {
    const term = this.#term;
    if (term === undefined) return false;
    if (this.#now() - term.renewedAtMs < this.#options.renewDeadlineMs) return true;
    this.#lose('the lease was not renewed in time');
    return false;
  }

  /** Throws {@link LeadershipLostError} once leadership was lost, also where it is found out by this; not after an end in peace. */
  throwIfLost(): void {
    // A leader whose time is over finds it out here, whatever kept it waiting.
    void this.isLeader;
    this.#lost.signal.throwIfAborted();
  }

  /**
   * For health checks: what is wrong when this process took itself for the leader for longer than its lease and the given
   * time without renewing it.
   */
  check(tolerableMs = 0): Error | undefined {
    const { leaseDurationMs, name } = this.#options;
    const isOverdue = this.#term !== undefined && this.#now() - this.#term.renewedAtMs > leaseDurationMs + tolerableMs;
    return isOverdue ? new Error(`failed election to renew leadership on lease ${name}`) : undefined;
  }

  /**
   * Waits until this process leads, then works. The term's signal aborts when leadership is lost; the Lease is renewed until
   * the work has ended, whoever ended it, and then given back. Resolves when the work has resolved, or when `stop` aborts
   * before it began, whatever kept it from the Lease. Rejects with {@link LeadershipLostError}, after which nothing more is
   * written, and as the work does.
   */
  async run(work: Work, stop: AbortSignal): Promise<void> {
    if (this.#isStarted) throw new Error('a leader elector runs once');
    this.#isStarted = true;
    try {
      if (await this.#acquire(stop)) await this.#lead(work);
    } finally {
      if (this.#hasWritten && this.#options.releasesOnStop) await this.#release();
    }
  }

  async #acquire(stop: AbortSignal): Promise<boolean> {
    const { retryPeriodMs, random, clock } = this.#options;
    if (!stop.aborted) this.#inform('Attempting to acquire leader lease', this.identity);
    while (!stop.aborted) {
      // Not cut short by the stop: whether it got the Lease must be known.
      if (await this.#tryAcquireOrRenew()) {
        if (!stop.aborted) return true;
        this.#endTerm();
        return false;
      }
      const pauseMs = retryPeriodMs * (1 + random() * jitterFactor);
      await delay(clock, pauseMs, stop).catch(() => undefined);
    }
    return false;
  }

  async #lead(work: Work): Promise<void> {
    const term = this.#term as Term;
    const { onChange } = this.#options;
    this.#inform('Successfully acquired lease', this.identity);
    this.#tell('onChange', () => onChange(true));
    this.#record('became leader');
    const ended = new AbortController();
    const renewing = this.#renewUntil(AbortSignal.any([ended.signal, term.abort.signal]));
    try {
      await work(term.abort.signal);
    } finally {
      ended.abort();
      await renewing;
      // By the clock: the answer to the last renewal may have been the first thing to happen after a pause.
      if (this.isLeader) {
        this.#record('stopped leading');
        this.#endTerm();
        this.#tell('onChange', () => onChange(false));
      }
    }
    if (term.abort.signal.aborted) throw term.abort.signal.reason;
  }

  async #renewUntil(over: AbortSignal): Promise<void> {
    const { retryPeriodMs, clock } = this.#options;
    while (!over.aborted) {
      await delay(clock, retryPeriodMs, over).catch(() => undefined);
      if (over.aborted || !this.isLeader) return;
      const isRenewed = await this.#tryAcquireOrRenew();
      if (!isRenewed && this.leader !== '' && this.leader !== this.identity)
        this.#lose(`${this.leader} holds the lease`);
    }
  }

  /** One attempt. Never rejects: what failed is logged, and tried again by the caller. */
  async #tryAcquireOrRenew(): Promise<boolean> {
    const startedAtMs = this.#now();
    let isOurs: boolean;
    try {
      isOurs = (this.#term !== undefined && (await this.#renewQuickly())) || (await this.#claimPresent());
    } catch (error) {
      this.#tellFailure(error);
      return false;
    }
    this.#toldFailure = undefined;
    return isOurs && this.#extendTerm(startedAtMs);
  }

  /** Each attempt fails alike while something is broken: it is told once, and when it changes. */
  #tellFailure(error: unknown): void {
    const { logger, name } = this.#options;
    const text = error instanceof Error ? error.message : String(error);
    const level = text === this.#toldFailure ? 'debug' : 'warn';
    logger[level]('Failed to acquire or renew the lease', { lease: name, error });
    this.#toldFailure = text;
  }

  /** Straight from what was written last; false when that was overtaken. Source: client-go's fast path. */
  async #renewQuickly(): Promise<boolean> {
    const observed = this.#observed;
    if (observed === undefined || holderOf(observed) !== this.identity) return false;
    try {
      this.#see(await this.#call((options) => this.#update(claimed(observed, this.#claim()), options)));
      return true;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) this.#options.logger.debug('Renewing anew', { error });
      return false;
    }
  }

  /** Reads the Lease and claims it if it is free. */
  async #claimPresent(): Promise<boolean> {
    const { client, name, namespace } = this.#options;
    const present = await this.#call((options) => client.get(Lease, { name, namespace }, options)).catch(
      (error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      },
    );
    if (present !== undefined) this.#see(present);
    const observed = this.#observed;
    if (present !== undefined && observed !== undefined && !isFree(observed, this.identity, this.#now())) return false;
    const claim = this.#claim();
    // Source: client-go counts when it finds its own name on a Lease that is there.
    if (present !== undefined && this.leader === this.identity)
      this.#tell('onSlowRenewal', () => this.#options.onSlowRenewal());
    const written = await this.#call((options) => {
      this.#hasWritten = true;
      return present === undefined || observed === undefined
        ? client.create(Lease, newLease({ name, namespace }, claim), options)
        : this.#update(claimed(observed, claim), options);
    });
    this.#see(written);
    return true;
  }

  #update(lease: Lease, options: LimitedCall): Promise<Lease> {
    this.#hasWritten = true;
    return this.#options.client.update(Lease, lease, options);
  }

  /** The Lease is ours since a request that began then; false when that is too long ago to lead. */
  #extendTerm(startedAtMs: number): boolean {
    const { renewDeadlineMs, clock } = this.#options;
    const leftMs = startedAtMs + renewDeadlineMs - this.#now();
    // A leader that finds its time over has lost already, whatever the answer says.
    if (leftMs <= 0 || this.#lost.signal.aborted || (this.#term !== undefined && !this.isLeader)) return false;
    const term: Term = this.#term ?? {
      abort: new AbortController(),
      renewedAtMs: startedAtMs,
      cancelDeadline: () => undefined,
    };
    term.cancelDeadline();
    term.renewedAtMs = startedAtMs;
    term.cancelDeadline = clock.setTimer(() => void this.isLeader, leftMs);
    this.#term = term;
    return true;
  }

  /** Source: client-go resourcelock RecordEvent. */
  #record(what: string): void {
    const { name, namespace, identity, recorder } = this.#options;
    const metadata = { ...this.#observed?.lease.metadata, name, namespace };
    const lease = { apiVersion: `${Lease.group}/${Lease.version}`, kind: Lease.kind, metadata };
    const event = { type: 'Normal', reason: 'LeaderElection', message: `${identity} ${what}` } as const;
    this.#tell('recorder.record', () => recorder.record(lease, event));
  }

  #endTerm(): void {
    this.#term?.cancelDeadline();
    this.#term = undefined;
  }

  #lose(why: string): void {
    const term = this.#term;
    if (term === undefined) return;
    this.#endTerm();
    // Nothing is to be given back: it is somebody else's, or will be.
    this.#hasWritten = false;
    const error = new LeadershipLostError(`leader election lost: ${why}`);
    this.#lost.abort(error);
    this.#options.logger.error('Lost the leadership', { lease: this.#options.name, why });
    term.abort.abort(error);
    this.#tell('onChange', () => this.#options.onChange(false));
  }

  /** Gives the Lease back if it is ours. Tries again on conflicts, within the renew deadline. Never rejects. */
  async #release(): Promise<void> {
    const { client, clock, name, namespace, renewDeadlineMs, logger } = this.#options;
    const untilMs = this.#now() + renewDeadlineMs;
    while (this.#now() < untilMs) {
      try {
        const lease = await this.#call((options) => client.get(Lease, { name, namespace }, options));
        if (lease.spec?.holderIdentity !== this.identity) return;
        this.#see(await this.#call((options) => this.#update(released(lease, clock.now()), options)));
        return;
      } catch (error) {
        if (isConflict(error)) continue;
        return logger.warn('Failed to release the lease', { lease: name, error });
      }
    }
  }

  #see(lease: Lease): void {
    const before = this.leader;
    const isFirst = this.#observed === undefined;
    this.#observed = observe(this.#observed, lease, this.#now());
    if (!isFirst && before === this.leader) return;
    // That this process leads is said when it does; that nobody does is followed by who does.
    if (this.leader !== '' && this.leader !== this.identity) this.#inform('New leader elected', this.leader);
    this.#tell('onNewLeader', () => this.#options.onNewLeader(this.leader));
  }

  /** How the election goes: a few lines, none of them at each retry. Source: client-go, and the callback of its example. */
  #inform(message: string, identity: string): void {
    const { logger, namespace, name } = this.#options;
    logger.info(message, { lease: name, namespace, identity });
  }

  /** A callback that fails must cost neither a renewal nor the work. */
  #tell(callback: string, call: () => unknown): void {
    const { logger, name } = this.#options;
    guardedCall(call, (error) => logger.error(`${callback} failed`, { lease: name, error }));
  }

  #claim(): Claim {
    const { identity, leaseDurationMs, clock } = this.#options;
    return { identity, leaseDurationMs, nowMs: clock.now() };
  }

  /**
   * One request, ended after half the renew deadline (source: client-go NewFromKubeconfig) and by the loss of leadership, also
   * with a client that knows no signals. Rejects once leadership is lost.
   */
  async #call<T>(request: (options: LimitedCall) => Promise<T>): Promise<T> {
    const { renewDeadlineMs, clock } = this.#options;
    const timeoutMs = Math.max(Math.min(1000, renewDeadlineMs), renewDeadlineMs / 2);
    const lost = this.#lost.signal;
    const beforeAttempt = (): void => this.throwIfLost();
    beforeAttempt();
    const end = new AbortController();
    const onLost = (): void => end.abort(lost.reason);
    lost.addEventListener('abort', onLost, { once: true });
    const cancel = clock.setTimer(() => end.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    const ended = new Promise<never>((_, reject) => {
      end.signal.addEventListener('abort', () => reject(end.signal.reason), { once: true });
    });
    try {
      return await Promise.race([request({ signal: end.signal, timeoutMs, beforeAttempt }), ended]);
    } finally {
      cancel();
      lost.removeEventListener('abort', onLost);
    }
  }

  #now(): number {
    return this.#options.clock.monotonicNow();
  }
}
