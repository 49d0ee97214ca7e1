// Emit turns plan nodes into code.

import { listCost, mapCost, structCost } from '../cost/cost-node.ts';
import { isFailure } from '../values/failure.ts';
import { CelOptional } from '../values/optional.ts';
import { type Code, hasLoop, type Run, runAllSlices, runSlices } from './code.ts';
import { emitAttribute } from './emit-attribute.ts';
import { emitCall } from './emit-call.ts';
import { emitFold } from './emit-fold.ts';
import { emitEquality, emitLogic } from './emit-logic.ts';
import type { Frame } from './frame.ts';
import { buildList, buildMap, buildStruct } from './literals.ts';
import type { MembershipNode, OptionalOrNode, PlanNode } from './plan-node.ts';

export function emit(node: PlanNode): Code {
  switch (node.kind) {
    case 'constant': {
      const { value } = node;
      return { run: () => value, slices: undefined };
    }
    case 'attribute':
      return emitAttribute(node, emit);
    case 'call':
      return emitCall(node, emit);
    case 'and':
    case 'or':
      return emitLogic(node, emit);
    case 'equal':
    case 'notEqual':
      return emitEquality(node, emit);
    case 'list':
      return emitLiteral({
        nodes: node.elements,
        cost: listCost,
        build: (values) => buildList(node, values),
        isOptional: (index) => node.optionals.has(index),
      });
    case 'map':
      return emitLiteral({
        nodes: node.entries.flatMap(({ key, value }) => [key, value]),
        cost: mapCost,
        build: (values) => buildMap(node, values),
        isOptional: (index) => index % 2 === 1 && node.entries[(index - 1) / 2]?.isOptional === true,
      });
    case 'struct':
      return emitLiteral({
        nodes: node.fields.map(({ value }) => value),
        cost: structCost,
        build: (values) => buildStruct(node, values),
        isOptional: (index) => node.fields[index]?.isOptional === true,
      });
    case 'fold':
      return emitFold(node, emit);
    case 'membership':
      return emitMembership(node);
    case 'or?':
    case 'orValue?':
      return emitOptionalOr(node);
  }
}

interface Literal {
  readonly nodes: readonly PlanNode[];
  readonly cost: number;
  build(values: readonly unknown[]): unknown;
  /** True when the part at an index must be an optional. */
  isOptional(index: number): boolean;
}

/**
 * A literal ends at the first part that is an error, or that is not optional although one is required. Its cost is the
 * same then.
 */
function emitLiteral({ nodes, cost, build, isOptional }: Literal): Code {
  const codes = nodes.map(emit);
  const runs = codes.map(({ run }) => run);
  const optionals = nodes.map((_, index) => isOptional(index));
  const isLast = (value: unknown, index: number): boolean =>
    isFailure(value) || (optionals[index] === true && !(value instanceof CelOptional));
  const finish = (frame: Frame, values: readonly unknown[]): unknown => {
    const last = values.at(-1);
    const result = isFailure(last) ? last : build(values);
    frame.charge(cost);
    return result;
  };
  const run: Run = (frame) => {
    const values: unknown[] = [];
    for (const [index, part] of runs.entries()) {
      const value = part(frame);
      values.push(value);
      if (isLast(value, index)) break;
    }
    return finish(frame, values);
  };
  if (!hasLoop(codes)) return { run, slices: undefined };
  return {
    run,
    *slices(frame) {
      return finish(frame, yield* runAllSlices(codes, frame, isLast));
    },
  };
}

function emitMembership({ arg, has }: MembershipNode): Code {
  const code = emit(arg);
  const finish = (value: unknown): unknown => (isFailure(value) ? value : has(value));
  return {
    run: (frame) => finish(code.run(frame)),
    slices:
      code.slices &&
      function* (frame) {
        return finish(yield* runSlices(code, frame));
      },
  };
}

function emitOptionalOr({ kind, args }: OptionalOrNode): Code {
  const [left, right] = args.map(emit) as [Code, Code];
  const isValue = kind === 'orValue?';
  /** The result when the left side decides it. */
  const decided = (value: unknown): { readonly value: unknown } | undefined => {
    if (!(value instanceof CelOptional)) return { value };
    return value.hasValue ? { value: isValue ? value.value : value } : undefined;
  };
  return {
    run: (frame) => {
      const result = decided(left.run(frame));
      return result === undefined ? right.run(frame) : result.value;
    },
    slices: hasLoop([left, right])
      ? function* (frame) {
          const result = decided(yield* runSlices(left, frame));
          return result === undefined ? yield* runSlices(right, frame) : result.value;
        }
      : undefined,
  };
}
