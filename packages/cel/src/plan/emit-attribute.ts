// Attributes: variables and results with the selections on them.

import type { SlicedWork } from '@kapstan/api/internal';
import { CelType } from '../types/cel-type.ts';
import { CelBox } from '../values/cel-box.ts';
import { CelMapping } from '../values/cel-map.ts';
import { CelObject } from '../values/cel-object.ts';
import { CelFailure, isFailure, overloadFailure } from '../values/failure.ts';
import { goTypeName } from '../values/go-type-name.ts';
import { mutableStart } from '../values/mutable-values.ts';
import { CelOptional } from '../values/optional.ts';
import { type Code, runSlices } from './code.ts';
import { type Frame, unset } from './frame.ts';
import type { AttributeBase, AttributeNode, PlanNode, Qualifier } from './plan-node.ts';
import { findQualified, isQualifier, qualify } from './qualifiers.ts';

type Emit = (node: PlanNode) => Code;

/** Returns the value of an attribute as an expression. */
export function emitAttribute(node: AttributeNode, emit: Emit): Code {
  const code = emitResolve(node, emit);
  const cost = finalCost(node);
  const resolve = code.run;
  if (node.isTest) {
    const finish = (frame: Frame, value: unknown): unknown => {
      frame.charge(cost);
      return value instanceof CelOptional ? value.hasValue : value;
    };
    return {
      run: (frame) => finish(frame, resolve(frame)),
      slices:
        code.slices &&
        function* (frame) {
          return finish(frame, yield* runSlices(code, frame));
        },
    };
  }
  if (cost === 0) return code;
  return {
    run: (frame) => {
      const value = resolve(frame);
      frame.charge(cost);
      return value;
    },
    slices:
      code.slices &&
      function* (frame) {
        const value = yield* runSlices(code, frame);
        frame.charge(cost);
        return value;
      },
  };
}

/** Reading a variable costs 1, a conditional nothing, and a presence test one less. */
function finalCost({ base, isTest }: AttributeNode): number {
  return (base.kind === 'conditional' ? 0 : 1) - (isTest ? 1 : 0);
}

/** Returns the value of an attribute as part of another one, which costs less. */
function emitResolve(node: AttributeNode, emit: Emit): Code {
  if (node.base.kind === 'conditional') return emitConditional(node.base, emit);
  const base = emitBase(node.base, emit);
  const { qualifiers } = node;
  if (qualifiers.length === 0) return withPlainOptionals(base);
  const read = base.run;
  const steps = qualifiers.map((qualifier) => emitQualifier(qualifier, emit));
  const hasLoops = base.slices !== undefined || steps.some(({ key }) => key?.slices !== undefined);
  const slices = hasLoops ? (frame: Frame) => sliceSelections(base, steps, frame) : undefined;
  if (steps.every(({ isPlain }) => isPlain)) return { run: plainSelections(read, qualifiers), slices };
  return { run: (frame) => select(frame, read(frame), steps), slices };
}

/** Selects fields with constant names from plain objects, which is most of the work of most rules. */
function plainSelections(read: Code['run'], qualifiers: readonly Qualifier[]): Code['run'] {
  const names = qualifiers.map(({ key }) => (key as { value: string }).value);
  const steps = names.map((value) => ({ isPlain: true, isOptional: false, isTest: false, value, key: undefined }));
  const isInherited = names.some((name) => name in Object.prototype);
  if (isInherited) return (frame) => select(frame, read(frame), steps);
  if (names.length === 1) {
    const [name] = names as [string];
    return (frame) => {
      const object = read(frame);
      const value = memberOf(object, name);
      if (value === undefined) return select(frame, object, steps);
      frame.charge(1);
      return value;
    };
  }
  return (frame) => {
    const object = read(frame);
    let value: unknown = object;
    for (const name of names) {
      value = memberOf(value, name);
      if (value === undefined) return select(frame, object, steps);
    }
    if (value === undefined) return select(frame, object, steps);
    frame.chargeUnits(names.length);
    return value;
  };
}

/** The member of a map; undefined where the selection has to use the slow path, which also knows the fault. */
function memberOf(value: unknown, name: string): unknown {
  if (isPlainObject(value)) return value[name];
  const member = value instanceof CelMapping ? value.find(name) : undefined;
  return isFailure(member) ? undefined : member;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof CelBox);
}

function emitBase(base: Exclude<AttributeBase, { kind: 'conditional' }>, emit: Emit): Code {
  switch (base.kind) {
    case 'variable': {
      const { name } = base;
      const missing = new CelFailure(`no such attribute(s): ${name}`);
      return { run: (frame) => frame.find(name) ?? orNull(frame.find(name), missing), slices: undefined };
    }
    case 'slot': {
      const { slot } = base;
      return { run: (frame) => frame.slots[slot], slices: undefined };
    }
    case 'accumulator':
      return emitAccumulator(base.slot, emit(base.start));
    case 'operand':
      return emit(base.node);
  }
}

function orNull(value: unknown, missing: CelFailure): unknown {
  return value === null ? null : missing;
}

/** The first read of an accumulator computes its initial value. */
function emitAccumulator(slot: number, start: Code): Code {
  const finish = (frame: Frame, value: unknown): unknown => {
    const first = mutableStart(value);
    frame.slots[slot] = first;
    return first;
  };
  return {
    run: (frame) => {
      const value = frame.slots[slot];
      return value === unset ? finish(frame, start.run(frame)) : value;
    },
    slices:
      start.slices &&
      function* (frame) {
        const value = frame.slots[slot];
        return value === unset ? finish(frame, yield* runSlices(start, frame)) : value;
      },
  };
}

function emitConditional(base: Extract<AttributeBase, { kind: 'conditional' }>, emit: Emit): Code {
  const condition = emit(base.condition);
  const [whenTrue, whenFalse] = base.branches.map((branch) => emitResolve(branch, emit)) as [Code, Code];
  const runCondition = condition.run;
  const runTrue = whenTrue.run;
  const runFalse = whenFalse.run;
  const hasLoops = [condition, whenTrue, whenFalse].some(({ slices }) => slices !== undefined);
  return {
    run: (frame) => {
      const value = runCondition(frame);
      if (value === true) return runTrue(frame);
      return value === false ? runFalse(frame) : overloadFailure(value);
    },
    slices: hasLoops
      ? function* (frame) {
          const value = yield* runSlices(condition, frame);
          if (value === true) return yield* runSlices(whenTrue, frame);
          return value === false ? yield* runSlices(whenFalse, frame) : overloadFailure(value);
        }
      : undefined,
  };
}

interface Step {
  /** True for a field with a constant name that must exist. */
  readonly isPlain: boolean;
  readonly isOptional: boolean;
  readonly isTest: boolean;
  /** The key, when it is constant. */
  readonly value: unknown;
  /** Computes the key when it is not constant. */
  readonly key: Code | undefined;
}

function emitQualifier({ key, isOptional, isTest }: Qualifier, emit: Emit): Step {
  if ('value' in key) {
    const isPlain = !isOptional && !isTest && typeof key.value === 'string';
    return { isPlain, isOptional, isTest, value: key.value, key: undefined };
  }
  const code = 'attribute' in key ? emitResolve(key.attribute, emit) : emit(key.node);
  return { isPlain: false, isOptional, isTest, value: undefined, key: code };
}

/** Applies all selections. If one of them, or the start, is optional, so is the result. */
function select(frame: Frame, start: unknown, steps: readonly Step[]): unknown {
  const selection = startSelection(start);
  for (const step of steps) {
    if (selection.isDone) break;
    apply(frame, selection, { step, key: step.key === undefined ? step.value : step.key.run(frame) });
  }
  return resultOf(selection);
}

function* sliceSelections(base: Code, steps: readonly Step[], frame: Frame): SlicedWork<unknown> {
  const selection = startSelection(yield* runSlices(base, frame));
  for (const step of steps) {
    if (selection.isDone) break;
    const key = step.key === undefined ? step.value : yield* runSlices(step.key, frame);
    apply(frame, selection, { step, key });
  }
  return resultOf(selection);
}

interface Selection {
  value: unknown;
  isOptional: boolean;
  /** True when the value is the result, and the remaining selections are skipped. */
  isDone: boolean;
}

function startSelection(start: unknown): Selection {
  if (!(start instanceof CelOptional)) return { value: start, isOptional: false, isDone: isFailure(start) };
  return start.hasValue
    ? { value: unwrapped(start.value), isOptional: true, isDone: false }
    : { value: start, isOptional: false, isDone: true };
}

/** Reads an attribute without selections. */
function withPlainOptionals(base: Code): Code {
  const read = base.run;
  const normalize = (value: unknown): unknown =>
    value instanceof CelOptional && value.hasValue ? CelOptional.of(unwrapped(value.value)) : value;
  return {
    run: (frame) => {
      const value = read(frame);
      return typeof value === 'object' ? normalize(value) : value;
    },
    slices:
      base.slices &&
      function* (frame) {
        return normalize(yield* runSlices(base, frame));
      },
  };
}

/**
 * Go converts to native values here: an optional inside an optional becomes its value, a type its name, and values of
 * some libraries are lost.
 */
function unwrapped(value: unknown): unknown {
  if (value instanceof CelOptional) return value.hasValue ? unwrapped(value.value) : null;
  if (value instanceof CelObject && value.nativeType !== undefined) {
    return new CelFailure(`unsupported conversion to ref.Val: (${value.nativeType})${value}`);
  }
  return value instanceof CelType ? value.name : value;
}

function resultOf({ value, isOptional, isDone }: Selection): unknown {
  return isOptional && !isDone ? CelOptional.of(value) : value;
}

function apply(frame: Frame, selection: Selection, { step, key }: { step: Step; key: unknown }): void {
  selection.isOptional ||= step.isOptional;
  if (isFailure(key) || !isQualifier(key)) {
    const value = isFailure(key) ? key : new CelFailure(`invalid qualifier type: ${goTypeName(key)}`);
    if (!selection.isOptional) frame.charge(1);
    return finish(selection, value);
  }
  if (selection.isOptional) return applyIfPresent(frame, selection, { isTest: step.isTest, key });
  const value = step.isTest ? presence(selection.value, key) : qualify(selection.value, key);
  frame.charge(1);
  if (isFailure(value)) return finish(selection, value);
  selection.value = value;
}

/** An absent value costs nothing. */
function applyIfPresent(frame: Frame, selection: Selection, { isTest, key }: { isTest: boolean; key: unknown }): void {
  const value = findQualified(selection.value, key);
  if (value === undefined) return finish(selection, CelOptional.none);
  if (isFailure(value)) return finish(selection, value);
  frame.charge(1);
  selection.value = isTest ? true : value;
}

function presence(container: unknown, key: unknown): unknown {
  const value = findQualified(container, key);
  return isFailure(value) ? value : value !== undefined;
}

function finish(selection: Selection, value: unknown): void {
  selection.value = value;
  selection.isDone = true;
}
