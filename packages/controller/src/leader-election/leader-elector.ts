// LeaderElector lets one of several processes work: the holder of a Lease. The decisions are in leader-record.ts; the
// manager uses it. Source: client-go tools/leaderelection, but stricter about when a leader stops.

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

/** The right to work was lost: another process holds the Lease, or it could not be renewed in time. */
export class LeadershipLostError extends Error {
  constructor(message = 'leader election lost') {
    super(message);
    this.name = 'LeadershipLostError';
  }
}

type Work = (term: AbortSignal) => Promise<void>;
type LimitedCall = Required<Omit<CallOptions, 'trace'>>;

/** One period of leadership. */
interface Term {
  readonly abort: AbortController;
  /** The time when the last successful renewal was sent. */
  renewedAtMs: number;
  cancelDeadline: CancelTimer;
}

/**
 * An elector is used once: it is a candidate, then a leader, then done. A leader counts from the start of its last
 * successful renewal and stops leading `renewDeadlineMs` later, even if this process was busy or paused. Others wait
 * `leaseDurationMs` from the time when they saw that renewal, which was later. So there are never two leaders.
 *
 * @example
 * ```ts
 * import { delay, systemClock } from '@kapstan/api';
 * import { connect } from '@kapstan/client';
 * import { LeaderElector } from '@kapstan/controller';
 *
 * const elector = new LeaderElector({ client: await connect(), name: 'report', namespace: 'default' });
 * const stop = new AbortController();
 * // The function ends its work when its signal aborts: the Lease is lost, or the program stops.
 * await elector.run(async (signal) => await delay(systemClock, 60_000, signal), stop.signal);
 * ```
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

  /** The last known holder of the Lease; "" = nobody or unknown. */
  get leader(): string {
    return holderOf(this.#observed);
  }

  /** True while this process may work. When it has just ceased to, the term's signal aborts before this returns. */
  get isLeader(): boolean {
    const term = this.#term;
    if (term === undefined) return false;
    if (this.#now() - term.renewedAtMs < this.#options.renewDeadlineMs) return true;
    this.#lose('the lease was not renewed in time');
    return false;
  }

  /** Time since the last successful renewal was sent, in milliseconds; undefined while this process does not lead. */
  get renewedMsAgo(): number | undefined {
    return this.#term === undefined ? undefined : this.#now() - this.#term.renewedAtMs;
  }

  /**
   * Throws {@link LeadershipLostError} once leadership was lost, including when this call finds it out; not after a
   * normal end.
   */
  throwIfLost(): void {
    // Reading `isLeader` ends the term if the leader's time has passed meanwhile.
    void this.isLeader;
    this.#lost.signal.throwIfAborted();
  }

  /**
   * Returns an error, for health checks, when this process believed that it was the leader for longer than its lease
   * and the given time without renewing it.
   */
  check(tolerableMs = 0): Error | undefined {
    const { leaseDurationMs, name } = this.#options;
    const isOverdue = this.#term !== undefined && this.#now() - this.#term.renewedAtMs > leaseDurationMs + tolerableMs;
    return isOverdue ? new Error(`failed election to renew leadership on lease ${name}`) : undefined;
  }

  /**
   * Waits until this process leads, then works. The term's signal aborts when leadership is lost. The Lease is renewed
   * until the work has ended for any reason, and then released. Resolves when the work has resolved, or when `stop`
   * aborts before the work began. Rejects like the work, and with {@link LeadershipLostError}, after which nothing more
   * is written.
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
      // The stop does not cut this short, because it must be known whether the attempt got the Lease.
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
      // The clock decides: the answer to the last renewal may have been the first thing to happen after a pause.
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

  /** Makes one attempt. Never rejects: failures are logged, and the caller tries again. */
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

  /**
   * Logs a failure once, and again when it changes, because while something is broken all attempts fail in the same
   * way.
   */
  #tellFailure(error: unknown): void {
    const { logger, name } = this.#options;
    const text = error instanceof Error ? error.message : String(error);
    const level = text === this.#toldFailure ? 'debug' : 'warn';
    logger[level]('failed to acquire or renew the lease', { lease: name, error });
    this.#toldFailure = text;
  }

  /**
   * Writes from the last written state; returns false when somebody else has written. Source: client-go's fast path.
   */
  async #renewQuickly(): Promise<boolean> {
    const observed = this.#observed;
    if (observed === undefined || holderOf(observed) !== this.identity) return false;
    try {
      this.#see(await this.#call((options) => this.#update(claimed(observed, this.#claim()), options)));
      return true;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error))
        this.#options.logger.debug('the quick renewal of the lease failed; reading the lease first', { error });
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
    // client-go also counts this case, in which it finds its own name on an existing Lease.
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

  /** Extends the term from the time when the renewal was sent; returns false when that is too long ago to lead. */
  #extendTerm(startedAtMs: number): boolean {
    const { renewDeadlineMs, clock } = this.#options;
    const leftMs = startedAtMs + renewDeadlineMs - this.#now();
    // A leader that finds its time over has lost already, whatever the answer is.
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
    // The Lease is, or will be, somebody else's, so there is nothing to release.
    this.#hasWritten = false;
    const error = new LeadershipLostError(`leader election lost: ${why}`);
    this.#lost.abort(error);
    this.#options.logger.error('lost the leadership', { lease: this.#options.name, why });
    term.abort.abort(error);
    this.#tell('onChange', () => this.#options.onChange(false));
  }

  /** Releases the Lease if it is ours. Retries on conflicts, within the renew deadline. Never rejects. */
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
        return logger.warn('failed to release the lease', { lease: name, error });
      }
    }
  }

  #see(lease: Lease): void {
    const before = this.leader;
    const isFirst = this.#observed === undefined;
    this.#observed = observe(this.#observed, lease, this.#now());
    if (!isFirst && before === this.leader) return;
    // This process gets no line, because its start as the leader is logged elsewhere. Neither does the time without a
    // leader, which the next leader's line ends.
    if (this.leader !== '' && this.leader !== this.identity) this.#inform('New leader elected', this.leader);
    this.#tell('onNewLeader', () => this.#options.onNewLeader(this.leader));
  }

  /**
   * Logs the course of the election in a few lines, none of them per retry. Source: client-go, and the callback of its
   * example.
   */
  #inform(message: string, identity: string): void {
    const { logger, namespace, name } = this.#options;
    logger.info(message, { lease: name, namespace, identity });
  }

  /** Calls a callback whose failure must cost neither a renewal nor the work. */
  #tell(callback: string, call: () => unknown): void {
    const { logger, name } = this.#options;
    guardedCall(call, (error) => logger.error(`${callback} failed`, { lease: name, error }));
  }

  #claim(): Claim {
    const { identity, leaseDurationMs, clock } = this.#options;
    return { identity, leaseDurationMs, nowMs: clock.now() };
  }

  /**
   * Makes one request, ended after half the renew deadline (source: client-go NewFromKubeconfig) and by the loss of
   * leadership, even with a client that ignores signals. Rejects once leadership is lost.
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
