// PriorityAndFairness makes requests wait for seats of their priority level, and refuses those that wait too long. It sits between HTTP and
// flowcontrol/flow-control.ts. Used by request-chain.ts. Source: filters/priority-and-fairness.go.
import { type Clock, parseFieldSelector } from '@kapstan/api';
import type { MetricFamily } from '@kapstan/api/internal';
import type { ClassifiedRequest } from '../../flowcontrol/active-schema.ts';
import type { FlowControl } from '../../flowcontrol/flow-control.ts';
import { flowControlMetrics } from '../../flowcontrol/flow-control-metrics.ts';
import type { ForgetWatch } from '../../flowcontrol/watch-tracker.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { isLongRunning, type ResourceRequest } from '../exchange/request-info.ts';
import { LevelTurns } from './level-turns.ts';
import { requestTimeoutMs } from './request-deadline.ts';
import {
  freePlace,
  type KindCounts,
  type LimitedRequest,
  type RequestLimit,
  type RequestPlace,
} from './request-limit.ts';

/** Longest wait, whatever time a request has. */
const maxWaitMs = 60_000;

export interface PriorityAndFairnessPorts {
  readonly control: FlowControl;
  /** Maximum duration of a request, in milliseconds; a quarter of it may be spent waiting. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
}

export class PriorityAndFairness implements RequestLimit {
  readonly #ports: PriorityAndFairnessPorts;
  readonly #control: FlowControl;
  readonly #turns: LevelTurns;

  constructor(ports: PriorityAndFairnessPorts) {
    this.#ports = ports;
    this.#control = ports.control;
    this.#turns = new LevelTurns(ports.clock);
  }

  enter(asked: LimitedRequest): RequestPlace | undefined | Promise<RequestPlace | undefined> {
    const { exchange, info, user, nowMs } = asked;
    // Watches are the only long-running requests that are limited, and only until they have begun.
    if (info.verb !== 'watch' && isLongRunning(info)) return freePlace;
    const request = this.#control.admit({ user, target: info, query: exchange.query }, nowMs);
    const { schema, level } = request.active;
    exchange.setHeader('X-Kubernetes-PF-FlowSchema-UID', schema.uid);
    exchange.setHeader('X-Kubernetes-PF-PriorityLevel-UID', level.config.uid);
    if (request.phase === 'executing') return this.#begin(request, asked);
    if (request.phase === 'waiting') return this.#wait(request, asked);
    return refuse(exchange, request);
  }

  executing(): KindCounts {
    const { readOnly, mutating } = this.#control.inFlight.executing;
    return { readOnly: readOnly.count, mutating: mutating.count };
  }

  waiting(): KindCounts {
    const { readOnly, mutating } = this.#control.inFlight.waiting;
    return { readOnly: readOnly.count, mutating: mutating.count };
  }

  families(): readonly MetricFamily[] {
    return flowControlMetrics(this.#control, this.#ports.clock.monotonicNow());
  }

  /** Where nobody can queue, a seat need not be held for others: holding it would refuse them. */
  #begin(request: ClassifiedRequest, asked: LimitedRequest): RequestPlace | Promise<RequestPlace> {
    const place = this.#placeOf(request, asked);
    const { level } = request.active;
    if (typeof level.config.queuing === 'string' || this.#turns.hasTime()) return place;
    return this.#turns.room(level).then(() => place);
  }

  #placeOf(request: ClassifiedRequest, { exchange, info }: LimitedRequest): RequestPlace {
    const place = new FlowPlace(this.#control, request);
    if (info.type === 'resource' && info.verb === 'watch') place.forgetWatch = this.#register(exchange, info);
    return place;
  }

  #register(exchange: Exchange, info: ResourceRequest): ForgetWatch {
    return this.#control.watches.register(info, (field) => exactValue(exchange.query.get('fieldSelector'), field));
  }

  #wait(request: ClassifiedRequest, asked: LimitedRequest): Promise<RequestPlace | undefined> {
    const { exchange, nowMs } = asked;
    const { clock } = this.#ports;
    return new Promise((resolve) => {
      const stop = (): void => {
        cancelTimer();
        exchange.signal.removeEventListener('abort', giveUp);
      };
      const giveUp = (): void => {
        stop();
        this.#control.cancel(request);
        resolve(refuse(exchange, request));
      };
      const cancelTimer = clock.setBackgroundTimer(
        giveUp,
        Math.max(0, this.#waitMs(asked) - (clock.monotonicNow() - nowMs)),
      );
      request.onAdmitted = () => {
        stop();
        resolve(this.#begin(request, asked));
      };
      exchange.signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Returns a quarter of the request's time. Watches have no limit, so they get a quarter of the server's. */
  #waitMs({ exchange, info }: LimitedRequest): number {
    const { requestTimeoutMs: maxMs } = this.#ports;
    const timeMs = isLongRunning(info) ? maxMs : requestTimeoutMs(info, exchange.query, maxMs);
    return Math.min(timeMs / 4, maxWaitMs);
  }
}

class FlowPlace implements RequestPlace {
  readonly #control: FlowControl;
  readonly #request: ClassifiedRequest;
  forgetWatch: ForgetWatch | undefined = undefined;

  constructor(control: FlowControl, request: ClassifiedRequest) {
    this.#control = control;
    this.#request = request;
  }

  leave(): void {
    if (this.#request.phase === 'executing') this.#control.finish(this.#request);
  }

  end(): void {
    this.leave();
    this.forgetWatch?.();
    this.forgetWatch = undefined;
  }
}

function refuse(exchange: Exchange, request: ClassifiedRequest): undefined {
  exchange.setHeader('Retry-After', String(request.active.level.dropped.retryAfterSeconds));
}

/** Returns undefined also for a selector that cannot be read: the handler refuses it. */
function exactValue(selector: string | null, field: string): string | undefined {
  if (selector === null || selector === '') return undefined;
  try {
    return parseFieldSelector(selector).exactValue(field);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
