// Calls of functions.
import type { CallCost } from '../cost/runtime-cost.ts';
import { isFailure } from '../values/failure.ts';
import { type Code, hasLoop, type Run, runAllSlices, runSlices } from './code.ts';
import { emitPatternCall } from './emit-pattern-call.ts';
import { fastBinary } from './fast-calls.ts';
import type { Frame } from './frame.ts';
import type { CallNode, PlanNode } from './plan-node.ts';

type Emit = (node: PlanNode) => Code;

/** Spends the cost of a call. */
export function chargeCall(
  frame: Frame,
  cost: CallCost | number,
  { args, result }: { readonly args: readonly unknown[]; readonly result: unknown },
): void {
  frame.charge(typeof cost === 'number' ? cost : cost(args, result));
}

export function emitCall(node: CallNode, emit: Emit): Code {
  const codes = node.args.map(emit);
  if (node.pattern !== undefined) return emitPatternCall(node, node.pattern, codes);
  if (node.mode === 'untilError') return emitUntilError(node, codes);
  if (codes.length === 1) return emitUnary(node, codes[0] as Code);
  return codes.length === 2 ? emitBinary(node, codes as [Code, Code]) : emitUntilError(node, codes);
}

function emitUnary({ run: implementation, cost, mode }: CallNode, arg: Code): Code {
  const runArg = arg.run;
  const isStrict = mode !== 'lenient';
  const finish = (frame: Frame, value: unknown): unknown => {
    const result = isStrict && isFailure(value) ? value : implementation(value);
    if (typeof cost === 'number') frame.charge(cost);
    else frame.charge(cost([value], result));
    return result;
  };
  return {
    run: (frame) => finish(frame, runArg(frame)),
    slices:
      arg.slices &&
      function* (frame) {
        return finish(frame, yield* runSlices(arg, frame));
      },
  };
}

function emitBinary(node: CallNode, [left, right]: readonly [Code, Code]): Code {
  const { run: implementation, cost } = node;
  const runLeft = left.run;
  const runRight = right.run;
  const finish = (frame: Frame, a: unknown, b: unknown): unknown => {
    const result = isFailure(a) ? a : isFailure(b) ? b : implementation(a, b);
    chargeCall(frame, cost, { args: [a, b], result });
    return result;
  };
  const fast = fastBinary(node.name);
  const run: Run =
    fast === undefined || typeof cost !== 'number'
      ? (frame) => {
          const a = runLeft(frame);
          return finish(frame, a, runRight(frame));
        }
      : (frame) => {
          const a = runLeft(frame);
          const b = runRight(frame);
          if (Number.isSafeInteger(a) && Number.isSafeInteger(b)) {
            const result = fast(a as number, b as number);
            if (result !== undefined) {
              frame.charge(cost);
              return result;
            }
          }
          return finish(frame, a, b);
        };
  if (!hasLoop([left, right])) return { run, slices: undefined };
  return {
    run,
    *slices(frame) {
      const a = yield* runSlices(left, frame);
      return finish(frame, a, yield* runSlices(right, frame));
    },
  };
}

/** An error among the arguments ends the call, which costs nothing unless it is the last argument. */
function emitUntilError({ run: implementation, cost }: CallNode, codes: readonly Code[]): Code {
  const runs = codes.map(({ run }) => run);
  const count = runs.length;
  const finish = (frame: Frame, args: readonly unknown[]): unknown => {
    const last = args.at(-1);
    if (args.length < count) return last;
    const result = count > 0 && isFailure(last) ? last : implementation(...args);
    chargeCall(frame, cost, { args, result });
    return result;
  };
  const run: Run = (frame) => {
    const args: unknown[] = [];
    for (const part of runs) {
      const value = part(frame);
      args.push(value);
      if (isFailure(value)) break;
    }
    return finish(frame, args);
  };
  if (!hasLoop(codes)) return { run, slices: undefined };
  return {
    run,
    *slices(frame) {
      return finish(frame, yield* runAllSlices(codes, frame, isFailure));
    },
  };
}
