// Code: a plan node as a closure and, if it contains a loop, also as a generator, because only loops take long enough to need
// pauses. Each emitter writes both forms of its rule beside each other, because a generator costs ten times as much per node as a closure. The
// recorded expressions are run in both forms.
import type { SlicedWork } from '@kapstan/api/internal';
import type { Frame } from './frame.ts';

/** Evaluates a node to a value or an error. Throws EvaluationStop or GiveUp only. */
export type Run = (frame: Frame) => unknown;

export interface Code {
  readonly run: Run;
  /** Does the same in slices; undefined when there is no loop inside. */
  readonly slices: ((frame: Frame) => SlicedWork<unknown>) | undefined;
}

/** Evaluates in slices if there is a loop. */
export function* runSlices(code: Code, frame: Frame): SlicedWork<unknown> {
  return code.slices === undefined ? code.run(frame) : yield* code.slices(frame);
}

export function hasLoop(codes: readonly Code[]): boolean {
  return codes.some(({ slices }) => slices !== undefined);
}

/** Evaluates all in order; `isLast` ends it early, with the values so far. */
export function* runAllSlices(
  codes: readonly Code[],
  frame: Frame,
  isLast: (value: unknown, index: number) => boolean,
): SlicedWork<unknown[]> {
  const values: unknown[] = [];
  for (const [index, code] of codes.entries()) {
    const value = yield* runSlices(code, frame);
    values.push(value);
    if (isLast(value, index)) break;
  }
  return values;
}
