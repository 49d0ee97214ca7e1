// Program evaluates an expression, at once or with pauses. Evaluation is pure, so an attempt that takes long is
// abandoned and repeated in the slower form that can pause.

import { type Clock, systemClock } from '@kapstan/api';
import { type CallSignal, type SlicedWork, TurnSlice } from '@kapstan/api/internal';
import type { Environment } from './environment/environment.ts';
import { stepsPerSlice, stepsPerTurn } from './patterns/pattern-work.ts';
import { type Code, runSlices } from './plan/code.ts';
import { emit } from './plan/emit.ts';
import { Frame, GiveUp, type VariableSource } from './plan/frame.ts';
import type { PlanNode } from './plan/plan-node.ts';
import { planExpression } from './plan/planner.ts';
import type { Expr } from './syntax/expr.ts';
import { CelProgramError } from './syntax/issues.ts';
import { EvaluationStop, isFailure } from './values/failure.ts';
import { ValuePending } from './values/value-pending.ts';

/** The limit that Kubernetes sets for one evaluation. */
export const perCallLimit = 1_000_000;

/** Cost at which an attempt without pauses is abandoned: a few milliseconds. */
const giveUpCost = 50_000;

/** Steps of matching patterns at which it is abandoned. */
const stepsOfFirstTry = stepsPerTurn / 4;

/** Steps of all evaluations since the last pause for them: each may have too few for a pause of its own. */
let stepsWithoutPause = 0;

function hasManySteps({ steps }: Frame): boolean {
  stepsWithoutPause += steps;
  if (stepsWithoutPause < stepsPerSlice) return false;
  stepsWithoutPause = 0;
  return true;
}

/** Values of variables by name; undefined for one without a value. */
export type Activation = Readonly<Record<string, unknown>> | VariableSource;

/** Options of an evaluation: the limit of its cost, and the time when it has to end. */
export interface EvaluateOptions {
  /** Highest cost allowed. Default 1 000 000, as in Kubernetes. */
  readonly budget?: number;
}

/** Options of an evaluation that pauses, so that the loop stays free. */
export interface TurnOptions extends EvaluateOptions {
  /** Ends the evaluation; the promise rejects with its reason. */
  readonly signal?: CallSignal | undefined;
  /** Default: the real clock. */
  readonly clock?: Clock;
}

/** The result of an evaluation: a value or an error, and the cost. */
export type Evaluation =
  | { readonly value: unknown; readonly error?: undefined; readonly cost: number }
  | { readonly value?: undefined; readonly error: string; readonly cost: number };

/** Options of {@link Program.evaluateInSlices}. */
export interface SlicedOptions extends EvaluateOptions {
  /** Cost up to which a first try runs in one go, because that is faster than in slices. 0 = no first try. Default 50,000. */
  readonly firstTryCost?: number;
}

/** A compiled expression. */
export class Program {
  readonly #code: Code;

  constructor(expr: Expr, environment: Environment) {
    this.#code = emit(planned(expr, environment));
  }

  /** Evaluates in one go, however long that takes; the budget limits it. */
  evaluate(activation: Activation = {}, { budget = perCallLimit }: EvaluateOptions = {}): Evaluation {
    return finish(new Frame(sourceOf(activation), { budget }), (frame) => this.#code.run(frame));
  }

  /**
   * Evaluates with a `yield` every few hundred microseconds. A short evaluation ends before the first one. Nothing in
   * the activation may change meanwhile.
   */
  *evaluateInSlices(
    activation: Activation = {},
    { budget = perCallLimit, firstTryCost = giveUpCost }: SlicedOptions = {},
  ): SlicedWork<Evaluation> {
    const source = sourceOf(activation);
    if (this.#code.slices === undefined) return this.evaluate(activation, { budget });
    const attempt = new Frame(source, { budget, limit: Math.min(budget, firstTryCost), mostSteps: stepsOfFirstTry });
    try {
      const evaluation = finish(attempt, (frame) => this.#code.run(frame));
      if (hasManySteps(attempt)) yield;
      return evaluation;
    } catch (error) {
      if (!(error instanceof GiveUp)) throw error;
    }
    yield;
    const frame = new Frame(source, { budget });
    const evaluation = yield* this.#slices(frame);
    if (hasManySteps(frame)) yield;
    return evaluation;
  }

  /** Evaluates in turns of the event loop, and waits for authorizers that answer later. */
  async evaluateInTurns(activation: Activation = {}, options: TurnOptions = {}): Promise<Evaluation> {
    const { signal, clock = systemClock } = options;
    for (;;) {
      signal?.throwIfAborted?.();
      try {
        return await inTurns(this.evaluateInSlices(activation, options), clock, signal);
      } catch (error) {
        if (!(error instanceof ValuePending)) throw error;
        await error.settled;
      }
    }
  }

  *#slices(frame: Frame): SlicedWork<Evaluation> {
    try {
      return evaluationOf(yield* runSlices(this.#code, frame), frame);
    } catch (error) {
      return stopped(error, frame);
    }
  }
}

/** Throws CelProgramError when a constant part of the expression would make every evaluation fail. */
function planned(expr: Expr, environment: Environment): PlanNode {
  try {
    return planExpression(expr, environment);
  } catch (error) {
    if (!(error instanceof EvaluationStop)) throw error;
    throw new CelProgramError(error.message, { cause: error });
  }
}

async function inTurns(
  work: SlicedWork<Evaluation>,
  clock: Clock,
  signal: CallSignal | undefined,
): Promise<Evaluation> {
  const slice = new TurnSlice({ clock, itemsPerLook: 1 });
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (step.value !== undefined) await step.value;
    if (!slice.endsHere()) continue;
    await slice.nextTurn();
    signal?.throwIfAborted?.();
  }
}

function finish(frame: Frame, run: (frame: Frame) => unknown): Evaluation {
  try {
    return evaluationOf(run(frame), frame);
  } catch (error) {
    return stopped(error, frame);
  }
}

function evaluationOf(value: unknown, { cost }: Frame): Evaluation {
  return isFailure(value) ? { error: value.message, cost } : { value, cost };
}

function stopped(error: unknown, { cost }: Frame): Evaluation {
  if (error instanceof EvaluationStop) return { error: error.message, cost };
  throw error;
}

function sourceOf(activation: Activation): VariableSource {
  if (typeof (activation as VariableSource).find === 'function') return activation as VariableSource;
  const record = activation as Readonly<Record<string, unknown>>;
  return { find: (name) => (Object.hasOwn(record, name) ? record[name] : undefined) };
}
