// Frame: the state of one evaluation: variables and what has been spent.

import { EvaluationStop } from '../values/failure.ts';

/** Where an evaluation finds its variables. Undefined for a variable that has no value. */
export interface VariableSource {
  find(name: string): unknown;
}

/** Ends an attempt to evaluate without pause: it takes so long that it has to be done in slices. */
export class GiveUp extends Error {}

const costExceeded = 'operation cancelled: actual cost limit exceeded';

/** A slot that holds no value yet. */
export const unset: unique symbol = Symbol('unset');

export class Frame {
  readonly #variables: VariableSource;
  readonly #budget: number;
  /** What may be spent before this attempt ends. */
  readonly limit: number;
  cost = 0;
  /** Values of the variables that macros declare, by the index that the planner gave them. */
  readonly slots: unknown[] = [];
  /** Cost from which a sliced evaluation makes its next pause. */
  pauseAt = 0;

  constructor(variables: VariableSource, budget: number, limit: number = budget) {
    this.#variables = variables;
    this.#budget = budget;
    this.limit = limit;
  }

  find(name: string): unknown {
    return this.#variables.find(name);
  }

  /** Spends at once. The whole cost counts, also where it is over the limit. */
  charge(cost: number): void {
    this.cost += cost;
    if (this.cost > this.limit) this.#stop();
  }

  /** Spends several times 1, so an evaluation over the limit ends one above it. */
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
