// ExpressionRun evaluates the expressions of one request, one after the other, in turns that they share, so that many
// small expressions hold the event loop no longer than one large one. Used by expression-list.ts and policy/.
import type { Clock } from '@kapstan/api';
import { type CallSignal, type SlicedWork, TurnSlice } from '@kapstan/api/internal';
import {
  type CompiledExpression,
  type Evaluation,
  perCallLimit,
  ValuePending,
  type VariableSource,
} from '@kapstan/cel';

/** Number of expressions after which the clock is read: small ones take some microseconds. */
const expressionsPerLook = 8;

export interface ExpressionRunOptions {
  readonly clock: Clock;
  /** Ends the evaluations, whose promises reject with its reason. */
  readonly signal: CallSignal | undefined;
}

export class ExpressionRun {
  readonly clock: Clock;
  readonly #signal: CallSignal | undefined;
  readonly #slice: TurnSlice;
  #turns = 0;

  constructor({ clock, signal }: ExpressionRunOptions) {
    this.clock = clock;
    this.#signal = signal;
    this.#slice = new TurnSlice({ clock, itemsPerLook: 1 });
  }

  /** Number of turns begun so far. Work that is done in between shares one turn. */
  get turns(): number {
    return this.#turns;
  }

  /** Returns at once if the evaluation ends within this turn. */
  evaluate(expression: CompiledExpression, variables: VariableSource): Evaluation | Promise<Evaluation> {
    this.#evaluated += 1;
    if (this.#evaluated % expressionsPerLook === 0 && this.#slice.endsHere()) return this.#later(expression, variables);
    try {
      const work = expression.evaluateInSlices(variables, { budget: perCallLimit });
      const step = work.next();
      return step.done === true ? step.value : this.#rest(expression, variables, { work, answer: step.value });
    } catch (error) {
      if (!(error instanceof ValuePending)) throw error;
      return this.#after(error, expression, variables);
    }
  }

  #evaluated = 0;

  async #later(expression: CompiledExpression, variables: VariableSource): Promise<Evaluation> {
    await this.#nextTurn();
    return this.evaluate(expression, variables);
  }

  async #after(pending: ValuePending, expression: CompiledExpression, variables: VariableSource): Promise<Evaluation> {
    await pending.settled;
    this.#signal?.throwIfAborted?.();
    return this.evaluate(expression, variables);
  }

  async #rest(
    expression: CompiledExpression,
    variables: VariableSource,
    { work, answer }: { readonly work: SlicedWork<Evaluation>; readonly answer: Promise<void> | undefined },
  ): Promise<Evaluation> {
    try {
      if (answer !== undefined) await this.#settled(answer);
      for (;;) {
        if (this.#slice.endsHere()) await this.#nextTurn();
        const step = work.next();
        if (step.done === true) return step.value;
        if (step.value !== undefined) await this.#settled(step.value);
      }
    } catch (error) {
      if (!(error instanceof ValuePending)) throw error;
      return this.#after(error, expression, variables);
    }
  }

  async #settled(answer: Promise<void>): Promise<void> {
    await answer;
    this.#signal?.throwIfAborted?.();
  }

  async #nextTurn(): Promise<void> {
    await this.#slice.nextTurn();
    this.#turns += 1;
    this.#signal?.throwIfAborted?.();
  }
}
