// Frame: the state of one evaluation: its variables and the cost so far.

import { EvaluationStop } from '../values/failure.ts';

/** Provides the variables of an evaluation. Returns undefined for a variable without a value. */
export interface VariableSource {
  find(name: string): unknown;
}

/** Ends an attempt to evaluate without pauses that takes so long that it must be done in slices. */
export class GiveUp extends Error {}

const costExceeded = 'operation cancelled: actual cost limit exceeded';

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

  constructor(variables: VariableSource, budget: number, limit: number = budget) {
    this.#variables = variables;
    this.#budget = budget;
    this.limit = limit;
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

  #stop(): never {
    if (this.limit < this.#budget) throw new GiveUp();
    throw new EvaluationStop(costExceeded);
  }
}
