// OwnCertificates makes an authority and a serving certificate, shares them through a store, and renews them in time
// according to certificate-plan.ts. Any replica may do a step; the store lets one win.
import type { Clock, Logger } from '@kapstan/api';
import { Backoff } from '@kapstan/api/internal';
import { createIssuer } from '../certificates/index.ts';
import {
  blocksOf,
  type CertificateAction,
  type CertificateState,
  type CertificateTimes,
  hostsToIssue,
  isUsable,
  planCertificates,
} from './certificate-plan.ts';
import type { CertificateEvents, CertificateSource, ServedCertificates } from './certificate-source.ts';
import type { CertificateStore, StoredCertificates } from './certificate-store.ts';
import { followAgain } from './follow-again.ts';
import { Wake } from './wake.ts';

export interface OwnCertificatesPorts {
  readonly store: CertificateStore;
  /** Names and addresses under which API servers call. */
  readonly hosts: readonly string[];
  readonly times: CertificateTimes;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Timers cannot wait longer than 24 days. */
const longestWaitMs = 3_600_000;
const pauses = { initialMs: 800, maxMs: 30_000, factor: 2, jitter: 0.5, resetAfterMs: 120_000 } as const;

export class OwnCertificates implements CertificateSource {
  readonly #options: OwnCertificatesPorts;
  readonly #wake: Wake;
  #events: CertificateEvents = { onChange: () => undefined, isTrusted: () => true };
  #signal: AbortSignal = new AbortController().signal;
  #served: string | undefined;
  #current: CertificateState | undefined;
  #trusted: { readonly bundle: string; readonly sinceMs: number } | undefined;
  #work: Promise<unknown> = Promise.resolve();

  constructor(options: OwnCertificatesPorts) {
    this.#options = options;
    this.#wake = new Wake(options.clock);
  }

  async start(events: CertificateEvents, signal: AbortSignal): Promise<ServedCertificates> {
    this.#events = events;
    this.#signal = signal;
    const backoff = new Backoff(pauses, { clock: this.#options.clock });
    let first: CertificateState | undefined;
    for (let told = ''; first === undefined; ) {
      try {
        await this.#renew();
        first = this.#current;
      } catch (error) {
        signal.throwIfAborted();
        told = this.#tell(error, told);
        await this.#wake.wait(backoff.next(), signal);
      }
      signal.throwIfAborted();
    }
    this.#work = Promise.all([this.#run(), this.#follow()]);
    return servedOf(first);
  }

  async refresh(): Promise<void> {
    this.#serve(await this.#options.store.read(this.#signal));
  }

  wake(): void {
    this.#wake.now();
  }

  async ended(): Promise<void> {
    await this.#work;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const backoff = new Backoff(pauses, { clock: this.#options.clock });
    let told = '';
    let waitMs = 0;
    while (!this.#signal.aborted) {
      await this.#wake.wait(waitMs, this.#signal);
      if (this.#signal.aborted) return;
      try {
        waitMs = Math.min(longestWaitMs, await this.#renew());
        told = '';
      } catch (error) {
        if (this.#signal.aborted) return;
        told = this.#tell(error, told);
        waitMs = backoff.next();
      }
    }
  }

  #follow(): Promise<void> {
    const { store, clock, logger } = this.#options;
    const signal = this.#signal;
    const onFailure = (error: unknown): void =>
      logger.warn('cannot follow the certificates of webhooks, trying again', { error });
    return followAgain(() => store.follow(() => this.#wake.now(), signal), { clock, signal, onFailure });
  }

  /** Does all steps that are due. Resolves to the time until the next one. */
  async #renew(): Promise<number> {
    const { store, hosts, times, clock } = this.#options;
    for (;;) {
      const stored = await store.read(this.#signal);
      const nowMs = clock.now();
      const trustedSinceMs = this.#trustedSince(stored.state?.bundle ?? '', nowMs);
      const { action, dueMs } = planCertificates(stored.state, { nowMs, hosts, times, trustedSinceMs });
      if (action !== 'replace') this.#serve(stored);
      if (action === 'nothing') return Math.max(0, dueMs - nowMs);
      await this.#step(action, stored, nowMs);
    }
  }

  /** Returns since when this process has seen that the bundle is trusted; undefined = it is not. */
  #trustedSince(bundle: string, nowMs: number): number | undefined {
    const isTrusted = this.#events.isTrusted(bundle);
    if (!isTrusted || this.#trusted?.bundle !== bundle)
      this.#trusted = isTrusted ? { bundle, sinceMs: nowMs } : undefined;
    return this.#trusted?.sinceMs;
  }

  async #step(action: CertificateAction, stored: StoredCertificates, nowMs: number): Promise<void> {
    const next = await this.#next(action, stored.state, nowMs);
    if (!(await this.#options.store.write(next, stored.version, this.#signal))) return;
    const verb = stored.state === undefined ? 'made' : 'renewed';
    this.#options.logger.info(`${verb} the certificates of webhooks`, { step: action });
  }

  async #next(
    action: CertificateAction,
    state: CertificateState | undefined,
    nowMs: number,
  ): Promise<CertificateState> {
    const { times, hosts } = this.#options;
    const [newest = '', ...old] = blocksOf(state?.bundle ?? '');
    if (action === 'dropOld' && state !== undefined) return { ...state, bundle: `${newest}\n` };
    const isNew = action === 'replace' || action === 'addAuthority' || state === undefined;
    const known = isNew ? undefined : { cert: `${newest}\n`, key: state.authorityKey };
    const commonName = `kapstan-webhooks-ca@${Math.trunc(nowMs / 1000)}`;
    const issuer = await createIssuer(known, { nowMs, lifetimeMs: times.authorityMs, commonName });
    const { cert, key } = issuer.authority;
    if (action === 'addAuthority' && state !== undefined)
      return { ...state, bundle: [cert.trim(), newest, ...old, ''].join('\n'), authorityKey: key };
    const lifetimeMs = Math.min(times.servingMs, times.authorityMs);
    const leaf = { commonName: 'kapstan-webhooks', hosts: hostsToIssue(state, hosts), usage: 'server' } as const;
    const serving = await issuer.issue({ ...leaf, nowMs, lifetimeMs });
    return { bundle: isNew ? cert : (state?.bundle ?? cert), authorityKey: key, serving };
  }

  #serve({ state }: StoredCertificates): void {
    // A Secret may hold anything. Unusable content is replaced by the next step.
    if (state === undefined || !isUsable(state)) return;
    const text = `${state.bundle}\n${state.serving.cert}`;
    if (text === this.#served) return;
    this.#events.onChange(servedOf(state));
    this.#current = state;
    this.#served = text;
  }

  /** Returns the text that was logged, so that the same failure is logged once. */
  #tell(error: unknown, before: string): string {
    const text = error instanceof Error ? error.message : String(error);
    if (text !== before)
      this.#options.logger.warn(`failed to keep the certificates of webhooks, trying again: ${text}`);
    return text;
  }
}

function servedOf({ serving, bundle }: CertificateState): ServedCertificates {
  return { serving, bundle };
}
