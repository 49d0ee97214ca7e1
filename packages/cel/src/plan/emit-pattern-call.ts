// Calls that match patterns. Their steps are counted besides their cost, which depends on the pattern's length alone: a
// try in one go ends when there are too many, and slices pause or wait for a thread.
import { stepsOfCompiling, stepsOfMatching } from '../patterns/pattern.ts';
import { type PatternJob, type PatternOperation, patternWork } from '../patterns/pattern-work.ts';
import { CelFailure, isFailure } from '../values/failure.ts';
import { type Code, runAllSlices } from './code.ts';
import type { Frame } from './frame.ts';
import type { CallNode } from './plan-node.ts';

export function emitPatternCall(
  { run: implementation, cost, mode }: CallNode,
  operation: PatternOperation,
  codes: readonly Code[],
): Code {
  const runs = codes.map(({ run }) => run);
  const isLast = mode === 'untilError' ? isFailure : (): boolean => false;
  const finish = (frame: Frame, args: readonly unknown[], result: unknown): unknown => {
    frame.charge(typeof cost === 'number' ? cost : cost(args, result));
    return result;
  };
  return {
    run: (frame) => {
      const args: unknown[] = [];
      for (const part of runs) {
        const value = part(frame);
        args.push(value);
        if (isLast(value)) break;
      }
      if (args.length < runs.length) return args.at(-1);
      const failed = args.find(isFailure);
      if (failed === undefined) frame.countSteps(stepsOf(operation, args));
      return finish(frame, args, failed ?? implementation(...args));
    },
    *slices(frame) {
      const args = yield* runAllSlices(codes, frame, isLast);
      if (args.length < codes.length) return args.at(-1);
      const failed = args.find(isFailure);
      if (failed !== undefined) return finish(frame, args, failed);
      const job = jobOf(operation, args);
      if (job === undefined) return finish(frame, args, implementation(...args));
      if (frame.isTimeToPause(stepsOf(operation, args))) yield;
      return finish(frame, args, resultOf(operation, yield* patternWork(job)));
    },
  };
}

/** Finding all matches may read the text as often as it has characters. */
function stepsOf(operation: PatternOperation, [text, pattern]: readonly unknown[]): number {
  if (typeof text !== 'string' || typeof pattern !== 'string') return 0;
  const times = operation === 'findAll' ? text.length : 1;
  return stepsOfCompiling(pattern) + stepsOfMatching(pattern, text) * times;
}

/** Returns undefined for arguments of other types, for which the implementation returns an error. */
function jobOf(operation: PatternOperation, [text, pattern, limit = -1]: readonly unknown[]): PatternJob | undefined {
  if (typeof text !== 'string' || typeof pattern !== 'string' || typeof limit !== 'number') return undefined;
  return { operation, pattern, text, limit };
}

function resultOf(operation: PatternOperation, value: unknown): unknown {
  return isFailure(value) && operation !== 'matches' ? new CelFailure(`Illegal regex: ${value.message}`) : value;
}
