// && and ||, which absorb errors when the other side decides, and == and !=.
import { runtimeCost } from '../cost/runtime-cost.ts';
import { equalValues } from '../values/equality.ts';
import { type CelFailure, isFailure, noSuchOverload } from '../values/failure.ts';
import { type Code, hasLoop, runSlices } from './code.ts';
import { chargeCall } from './emit-call.ts';
import type { Frame } from './frame.ts';
import type { EqualityNode, LogicNode, PlanNode } from './plan-node.ts';

type Emit = (node: PlanNode) => Code;

function errorOf(value: unknown): CelFailure {
  return isFailure(value) ? value : noSuchOverload;
}

export function emitLogic(node: LogicNode, emit: Emit): Code {
  const codes = node.terms.map(emit);
  /** The value that decides the result, whatever the other terms are. */
  const decisive = node.kind === 'or';
  const [first, second] = codes as [Code, Code];
  const runFirst = first.run;
  const runSecond = second.run;
  const run = (frame: Frame): unknown => {
    const left = runFirst(frame);
    if (left === decisive) return decisive;
    const right = runSecond(frame);
    if (right === decisive) return decisive;
    if (left !== !decisive) return errorOf(left);
    return right === !decisive ? right : errorOf(right);
  };
  if (!hasLoop(codes)) return { run, slices: undefined };
  return {
    run,
    *slices(frame) {
      const left = yield* runSlices(first, frame);
      if (left === decisive) return decisive;
      const right = yield* runSlices(second, frame);
      if (right === decisive) return decisive;
      if (left !== !decisive) return errorOf(left);
      return right === !decisive ? right : errorOf(right);
    },
  };
}

export function emitEquality(node: EqualityNode, emit: Emit): Code {
  const [left, right] = node.args.map(emit) as [Code, Code];
  const isEqual = node.kind === 'equal';
  const cost = isEqual ? runtimeCost('_==_', 'equals') : runtimeCost('_!=_', 'not_equals');
  const runLeft = left.run;
  const runRight = right.run;
  const finish = (frame: Frame, a: unknown, b: unknown): unknown => {
    const result = compare(isEqual, a, b);
    chargeCall(frame, cost, { args: [a, b], result });
    return result;
  };
  const run = (frame: Frame): unknown => {
    const a = runLeft(frame);
    const b = runRight(frame);
    if (typeof a === 'number' && typeof b === 'number') {
      frame.charge(1);
      return (a === b) === isEqual;
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

function compare(isEqual: boolean, a: unknown, b: unknown): unknown {
  if (isFailure(a)) return a;
  if (isFailure(b)) return b;
  const equal = equalValues(a, b);
  // Values that cannot be compared are unequal.
  return isEqual ? equal : equal !== true;
}
