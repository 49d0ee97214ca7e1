// Emit: plan nodes to code.

import { listCost, mapCost, structCost } from '../cost/cost-node.ts';
import { isFailure } from '../values/failure.ts';
import { CelOptional } from '../values/optional.ts';
import { type Code, hasLoop, type Run, runAllSlices, runSlices } from './code.ts';
import { emitAttribute } from './emit-attribute.ts';
import { emitCall } from './emit-call.ts';
import { emitFold } from './emit-fold.ts';
import { emitEquality, emitLogic } from './emit-logic.ts';
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
      return emitLiteral(node.elements, listCost, (values) => buildList(node, values));
    case 'map':
      return emitLiteral(
        node.entries.flatMap(({ key, value }) => [key, value]),
        mapCost,
        (values) => buildMap(node, values),
      );
    case 'struct':
      return emitLiteral(
        node.fields.map(({ value }) => value),
        structCost,
        (values) => buildStruct(node, values),
      );
    case 'fold':
      return emitFold(node, emit);
    case 'membership':
      return emitMembership(node);
    case 'or?':
    case 'orValue?':
      return emitOptionalOr(node);
  }
}

/** A literal ends at the first part that is an error; it costs the same then. */
function emitLiteral(nodes: readonly PlanNode[], cost: number, build: (values: readonly unknown[]) => unknown): Code {
  const codes = nodes.map(emit);
  const runs = codes.map(({ run }) => run);
  const run: Run = (frame) => {
    const values: unknown[] = [];
    for (const part of runs) {
      const value = part(frame);
      if (isFailure(value)) {
        frame.charge(cost);
        return value;
      }
      values.push(value);
    }
    const result = build(values);
    frame.charge(cost);
    return result;
  };
  if (!hasLoop(codes)) return { run, slices: undefined };
  return {
    run,
    *slices(frame) {
      const values = yield* runAllSlices(codes, frame, isFailure);
      const last = values.at(-1);
      const result = isFailure(last) ? last : build(values);
      frame.charge(cost);
      return result;
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
