// Loops of macros. In slices, a loop pauses every few thousand units of cost.
import { type AnyList, isList, listItems } from '../values/cel-list.ts';
import { type AnyMap, CelMapping, isMap, mapFind, mapKeys } from '../values/cel-map.ts';
import { CelFailure, isFailure } from '../values/failure.ts';
import { goTypeName } from '../values/go-type-name.ts';
import { finished } from '../values/mutable-values.ts';
import { type Code, runSlices } from './code.ts';
import { type Frame, unset } from './frame.ts';
import type { FoldNode, PlanNode } from './plan-node.ts';

/** Cost between two pauses, which takes a few hundred microseconds. */
const unitsPerSlice = 5_000;

type Emit = (node: PlanNode) => Code;

export function emitFold(node: FoldNode, emit: Emit): Code {
  const range = emit(node.range);
  const condition = emit(node.condition);
  const step = emit(node.step);
  const result = emit(node.result);
  const { slot, slot2, accumulatorSlot } = node;
  const elementsOf = slot2 === undefined ? singles : pairs;
  const runCondition = condition.run;
  const runStep = step.run;
  const enter = (frame: Frame, element: unknown): void => {
    if (slot2 === undefined) frame.slots[slot] = element;
    else [frame.slots[slot], frame.slots[slot2]] = element as [unknown, unknown];
  };
  const run = (frame: Frame): unknown => {
    const elements = elementsOf(range.run(frame));
    if (isFailure(elements)) return elements;
    frame.slots[accumulatorSlot] = unset;
    for (const element of elements) {
      enter(frame, element);
      if (runCondition(frame) === false) break;
      frame.slots[accumulatorSlot] = runStep(frame);
    }
    return finished(result.run(frame));
  };
  return {
    run,
    *slices(frame) {
      const elements = elementsOf(yield* runSlices(range, frame));
      if (isFailure(elements)) return elements;
      frame.slots[accumulatorSlot] = unset;
      for (const element of elements) {
        if (isTimeToPause(frame)) yield;
        enter(frame, element);
        if ((yield* runSlices(condition, frame)) === false) break;
        frame.slots[accumulatorSlot] = yield* runSlices(step, frame);
      }
      return finished(yield* runSlices(result, frame));
    },
  };
}

function isTimeToPause(frame: Frame): boolean {
  if (frame.cost < frame.pauseAt) return false;
  frame.pauseAt = frame.cost + unitsPerSlice;
  return true;
}

/** Returns the elements of a list or the keys of a map. */
function singles(range: unknown): readonly unknown[] | CelFailure {
  if (isFailure(range)) return range;
  if (isList(range)) return listItems(range as AnyList);
  if (isMap(range)) return mapKeys(range as AnyMap);
  return new CelFailure(`got '${goTypeName(range)}', expected iterable type`);
}

/** Returns indices and elements of a list, or keys and values of a map. */
function pairs(range: unknown): readonly (readonly [unknown, unknown])[] | CelFailure {
  if (isFailure(range)) return range;
  if (isList(range)) return listItems(range as AnyList).map((item, index) => [index, item] as const);
  if (range instanceof CelMapping) return Array.from(range.entries(), ({ key, value }) => [key, value] as const);
  if (isMap(range)) return mapKeys(range as AnyMap).map((key) => [key, mapFind(range as AnyMap, key)] as const);
  return new CelFailure(`unsupported comprehension range type: ${goTypeName(range)}`);
}
