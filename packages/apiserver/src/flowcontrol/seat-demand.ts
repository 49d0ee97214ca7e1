// SeatDemand measures how many seats a level could use over time: taken seats and seats for which requests wait. Borrowing between levels
// follows it. Used by priority-level.ts. Source: fairqueuing/integrator.go, apf_controller.go (seatDemandStats).

/**
 * Fraction of the smoothed demand that is left after a period: half of it after 5 minutes. Source: seatDemandSmoothingCoefficient.
 */
const smoothing = 0.977;

export class SeatDemand {
  #value = 0;
  #sinceMs: number;
  #seconds = 0;
  #integral = 0;
  #squareIntegral = 0;
  #max = 0;
  /** The next three members describe the last period. */
  highWatermark = 0;
  average = 0;
  deviation = 0;
  /** Smoothed demand, which follows a rise at once and a fall slowly. */
  smoothed = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  set(value: number, nowMs: number): void {
    this.#add(nowMs);
    this.#value = value;
    if (value > this.#max) this.#max = value;
  }

  /** Ends a period and begins the next. */
  endPeriod(nowMs: number): void {
    this.#add(nowMs);
    this.highWatermark = Math.round(this.#max);
    if (this.#seconds > 0) this.#takeMoments();
    this.#seconds = this.#integral = this.#squareIntegral = 0;
    this.#max = this.#value;
  }

  #takeMoments(): void {
    this.average = this.#integral / this.#seconds;
    const variance = this.#squareIntegral / this.#seconds - this.average * this.average;
    this.deviation = Math.sqrt(Math.max(0, variance));
    const envelope = this.average + this.deviation;
    this.smoothed = Math.max(envelope, smoothing * this.smoothed + (1 - smoothing) * envelope);
  }

  #add(nowMs: number): void {
    const seconds = (nowMs - this.#sinceMs) / 1000;
    this.#sinceMs = nowMs;
    this.#seconds += seconds;
    this.#integral += this.#value * seconds;
    this.#squareIntegral += this.#value * this.#value * seconds;
  }
}
