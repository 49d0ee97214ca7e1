// InFlightRequests counts the requests that run and wait now, reads and writes separately. Used by flow-control.ts.
// Source: filters/maxinflight.go (requestWatermark), metrics readWriteConcurrencyGaugeVec.
import { TimedRatio } from './timed-ratio.ts';

const bounds = [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1];

type RequestKind = 'readOnly' | 'mutating';

/** Number of requests of a kind in a phase, and the histogram of it over time. */
interface PhaseCount {
  count: number;
  readonly ratio: TimedRatio;
}

type KindCounts = Readonly<Record<RequestKind, PhaseCount>>;

export class InFlightRequests {
  readonly executing: KindCounts;
  readonly waiting: KindCounts;

  constructor(nowMs: number) {
    this.executing = countsAt(nowMs);
    this.waiting = countsAt(nowMs);
  }

  begin(isMutating: boolean, nowMs: number): void {
    change(this.executing[kindOf(isMutating)], 1, nowMs);
  }

  end(isMutating: boolean, nowMs: number): void {
    change(this.executing[kindOf(isMutating)], -1, nowMs);
  }

  wait(isMutating: boolean, nowMs: number): void {
    change(this.waiting[kindOf(isMutating)], 1, nowMs);
  }

  stopWaiting(isMutating: boolean, nowMs: number): void {
    change(this.waiting[kindOf(isMutating)], -1, nowMs);
  }

  /** Sets the divisors of the ratios. */
  setLimits(limits: { readonly waiting: number; readonly executing: number }, nowMs: number): void {
    for (const kind of ['readOnly', 'mutating'] as const) {
      this.waiting[kind].ratio.setDenominator(Math.max(1, limits.waiting), nowMs);
      this.executing[kind].ratio.setDenominator(Math.max(1, limits.executing), nowMs);
    }
  }
}

function kindOf(isMutating: boolean): RequestKind {
  return isMutating ? 'mutating' : 'readOnly';
}

function countsAt(nowMs: number): KindCounts {
  return {
    readOnly: { count: 0, ratio: new TimedRatio(bounds, nowMs) },
    mutating: { count: 0, ratio: new TimedRatio(bounds, nowMs) },
  };
}

function change(phase: PhaseCount, by: number, nowMs: number): void {
  phase.count += by;
  phase.ratio.set(phase.count, nowMs);
}
