// RequestLog knows the requests under way and the last slow ones, with their steps. It exists only when the inspector is on; without it no
// steps are recorded. It is filled by request-chain.ts, exchange.ts and the storage's diagnostics channel.
import diagnosticsChannel from 'node:diagnostics_channel';
import type { Clock } from '@kapstan/api';
import { type StoreSpan, storeChannelName } from '@kapstan/storage';
import type { Exchange, RequestSteps } from '../exchange/exchange.ts';
import { isLongRunning, type RequestInfo } from '../exchange/request-info.ts';

/** Source: the threshold of kube-apiserver's traces. */
const slowMs = 500;
const maxSlow = 50;
const maxSteps = 20;
/** Letters shown of a path. */
const maxPath = 200;

/** Options of a {@link RequestLog}. */
export interface RequestLogOptions {
  readonly clock: Clock;
  /** True for resources whose objects are not named. */
  readonly hidesNames: (of: { readonly group: string; readonly resource: string }) => boolean;
}

/** A request in a form for people, without query, body and headers. */
export interface LoggedRequest {
  readonly verb: string;
  /** "deployments.apps/scale", or the path when it is not a resource. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: string;
  /** Start on the monotonic clock. */
  readonly startMs: number;
  /** Undefined while it is under way. */
  readonly durationMs: number | undefined;
  readonly status: number;
  readonly steps: readonly { readonly step: string; readonly durationMs: number | undefined }[];
}

/** Keeps the requests under way and the last slow ones. */
export class RequestLog {
  readonly #options: RequestLogOptions;
  /** Requests in the order of their arrival. */
  readonly #underWay = new Map<string, LoggedSteps>();
  readonly #slow: LoggedRequest[] = [];
  #slowInAll = 0;

  constructor(options: RequestLogOptions) {
    this.#options = options;
    diagnosticsChannel.subscribe(storeChannelName, this.#onSpan);
  }

  /** Running requests, the longest-running first. */
  get underWay(): ReadonlyMap<string, { readonly request: LoggedRequest }> {
    return this.#underWay;
  }

  /** The last slow requests, newest first, and how many there were in all. */
  get slow(): { readonly total: number; readonly items: readonly LoggedRequest[] } {
    return { total: this.#slowInAll, items: [...this.#slow].reverse() };
  }

  /**
   * Follows a request to its end. Watches and other long-running requests last as long as their clients want, so they
   * are left out.
   */
  begin(exchange: Exchange, info: RequestInfo): void {
    if (isLongRunning(info)) return;
    const { clock, hidesNames } = this.#options;
    const logged = new LoggedSteps({ exchange, info, isNamed: !(info.type === 'resource' && hidesNames(info)), clock });
    const { auditId } = exchange;
    exchange.steps = logged;
    this.#underWay.set(auditId, logged);
    exchange.onClose(() => {
      // Clients choose audit ids, so another request may have the same.
      if (this.#underWay.get(auditId) === logged) this.#underWay.delete(auditId);
      logged.end();
      const { request } = logged;
      if ((request.durationMs ?? 0) < slowMs) return;
      this.#slowInAll++;
      this.#slow.push(request);
      if (this.#slow.length > maxSlow) this.#slow.shift();
    });
  }

  /** Stops listening to the storage. Idempotent. */
  close(): void {
    diagnosticsChannel.unsubscribe(storeChannelName, this.#onSpan);
  }

  readonly #onSpan = (message: unknown): void => {
    const { name, attributes, durationMs, steps } = message as StoreSpan;
    const logged = this.#underWay.get(String(attributes['audit-id'] ?? ''));
    if (logged === undefined) return;
    const slowest = steps.reduce(
      (found, { name: step, atMs }, index) => {
        const ms = atMs - (steps[index - 1]?.atMs ?? 0);
        return ms > found.ms ? { step, ms } : found;
      },
      { step: '', ms: 0 },
    );
    const detail = slowest.step === '' ? '' : `, most of it before "${slowest.step}"`;
    logged.add(`storage: ${name}${detail}`, durationMs);
  };
}

interface StepsParts {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly isNamed: boolean;
  readonly clock: Clock;
}

/** The steps of one request. */
class LoggedSteps implements RequestSteps {
  readonly #parts: StepsParts;
  readonly #startMs: number;
  readonly #steps: { readonly step: string; durationMs: number | undefined }[] = [];
  #stepStartMs: number;
  #current: { readonly step: string; durationMs: number | undefined } | undefined;
  #endMs: number | undefined;
  /** "" until it is known. */
  #userName = '';

  constructor(parts: StepsParts) {
    this.#parts = parts;
    this.#startMs = parts.clock.monotonicNow();
    this.#stepStartMs = this.#startMs;
  }

  /** Ends the step under way and begins the next. */
  enter(step: string, userName?: string): void {
    if (userName !== undefined) this.#userName = userName;
    const now = this.#parts.clock.monotonicNow();
    if (this.#current !== undefined) this.#current.durationMs = now - this.#stepStartMs;
    this.#stepStartMs = now;
    this.#current = undefined;
    if (this.#steps.length >= maxSteps) return;
    this.#current = { step, durationMs: undefined };
    this.#steps.push(this.#current);
  }

  /** Records a finished step that was timed elsewhere. */
  add(step: string, durationMs: number): void {
    if (this.#steps.length < maxSteps) this.#steps.push({ step, durationMs });
  }

  end(): void {
    const now = this.#parts.clock.monotonicNow();
    if (this.#current !== undefined) this.#current.durationMs = now - this.#stepStartMs;
    this.#endMs = now;
  }

  get request(): LoggedRequest {
    const { exchange, info, isNamed } = this.#parts;
    const isResource = info.type === 'resource';
    return {
      verb: info.verb,
      resource: isResource ? resourceText(info) : info.path.slice(0, maxPath),
      namespace: isResource ? info.namespace : '',
      name: isResource && isNamed ? info.name : '',
      user: this.#userName,
      startMs: this.#startMs,
      durationMs: this.#endMs === undefined ? undefined : this.#endMs - this.#startMs,
      status: exchange.status,
      steps: this.#steps.map((step) => ({ ...step })),
    };
  }
}

function resourceText({ group, resource, subresource }: Extract<RequestInfo, { readonly type: 'resource' }>): string {
  const text = group === '' ? resource : `${resource}.${group}`;
  return subresource === '' ? text : `${text}/${subresource}`;
}
