// Frame: the state of one evaluation: its variables and the cost so far.

import { stepsPerSlice } from '../patterns/pattern-work.ts';
import { EvaluationStop } from '../values/failure.ts';

/** Provides the variables of an evaluation. Returns undefined for a variable without a value. */
export interface VariableSource {
  find(name: string): unknown;
}

/** Ends an attempt to evaluate without pauses that takes so long that it must be done in slices. */
export class GiveUp extends Error {}

const costExceeded = 'operation cancelled: actual cost limit exceeded';

interface Limits {
  readonly budget: number;
  /** Cost at which this attempt ends. Default: the budget. */
  readonly limit?: number;
  /** Steps of matching patterns at which this attempt ends. Default: it does not. */
  readonly mostSteps?: number;
}

/** A slot without a value yet. */
export const unset: unique symbol = Symbol('unset');

export class Frame {
  readonly #variables: VariableSource;
  readonly #budget: number;
  /** Cost at which this attempt ends. */
  readonly limit: number;
  cost = 0;
  /** Values of the variables of macros, by the index that the planner gave them. */
  readonly slots: unknown[] = [];
  /** Cost at which a sliced evaluation makes its next pause. */
  pauseAt = 0;
  /** Steps of matching patterns so far. */
  steps = 0;
  readonly #mostSteps: number;
  #pauseAtStep = stepsPerSlice;

  constructor(variables: VariableSource, { budget, limit = budget, mostSteps = Number.POSITIVE_INFINITY }: Limits) {
    this.#variables = variables;
    this.#budget = budget;
    this.limit = limit;
    this.#mostSteps = mostSteps;
  }

  find(name: string): unknown {
    return this.#variables.find(name);
  }

  /** Spends the cost at once. The whole cost counts even if it exceeds the limit. */
  charge(cost: number): void {
    this.cost += cost;
    if (this.cost > this.limit) this.#stop();
  }

  /** Spends 1 several times, so an evaluation over the limit ends one above it. */
  chargeUnits(count: number): void {
    this.cost += count;
    if (this.cost <= this.limit) return;
    this.cost = Math.min(this.cost, this.limit + 1);
    this.#stop();
  }

  /** Counts steps of matching a pattern before they are made. */
  countSteps(steps: number): void {
    this.steps += steps;
    if (this.steps > this.#mostSteps) throw new GiveUp();
  }

  /** Counts steps in an evaluation in slices. Returns true when it must pause before it makes them. */
  isTimeToPause(steps: number): boolean {
    this.steps += steps;
    if (this.steps < this.#pauseAtStep) return false;
    this.#pauseAtStep = this.steps + stepsPerSlice;
    return true;
  }

  #stop(): never {
    if (this.limit < this.#budget) throw new GiveUp();
    throw new EvaluationStop(costExceeded);
  }
}
