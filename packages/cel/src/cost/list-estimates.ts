// Estimates by overload for functions on lists and sets whose libraries have versions.
import { type CallEstimate, type CostNode, type EstimatedCall, listCost } from './cost-node.ts';
import { add, exactly, largest, multiply, one, type Range, scale } from './range.ts';

export function estimateListCall(call: EstimatedCall): CallEstimate | undefined {
  const { overload } = call;
  const estimate = estimates.get(overload);
  if (estimate !== undefined) return estimate(call);
  const sort = /^list_(.+)_(sort|sortByAssociatedKeys)$/.exec(overload);
  if (sort === null) return undefined;
  const keys = sort[2] === 'sort' ? call.target : call.args[0];
  return keys && sortEstimate(call.sizeOf(keys), sort[1] ?? '');
}

type Estimate = (call: EstimatedCall) => CallEstimate | undefined;

const estimates: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ['list_slice', (call) => call.target && sliceEstimate(call, call.target)],
  ['list_flatten', (call) => call.target && allocating(1, call.sizeOf(call.target))],
  ['list_flatten_int', (call) => call.target && flattenEstimate(call, call.target)],
  ['lists_range', ({ args: [count] }) => count && allocating(1, exactly(literalInt(count, largest)))],
  ['list_reverse', (call) => call.target && allocating(1, call.sizeOf(call.target))],
  ['list_distinct', (call) => call.target && allocating(2, square(call.sizeOf(call.target)))],
  ['list_sets_contains_list', setEstimate(1)],
  ['list_sets_intersects_list', setEstimate(1)],
  ['list_sets_equivalent_list', setEstimate(2)],
]);

function sliceEstimate(call: EstimatedCall, target: CostNode): CallEstimate {
  const [from, to] = call.args as [CostNode, CostNode];
  const start = literalInt(from, 0n);
  const end = literalInt(to, call.sizeOf(target).max);
  return allocating(1, exactly(BigInt.asUintN(64, end - start)));
}

function flattenEstimate(call: EstimatedCall, target: CostNode): CallEstimate {
  const depth = literalInt(call.args[0] as CostNode, largest);
  return allocating(Number(depth), call.sizeOf(target));
}

function sortEstimate(size: Range, elementType: string): CallEstimate {
  const isText = elementType === 'string' || elementType === 'bytes';
  return allocating(isText ? 2.1 : 2, square(size));
}

function setEstimate(factor: number): Estimate {
  return (call) => {
    const [left, right] = call.args as [CostNode, CostNode];
    return { cost: add(scale(multiply(call.sizeOf(left), call.sizeOf(right)), factor), one) };
  };
}

function square(size: Range): Range {
  return multiply(size, size);
}

/** Estimates a call that makes a list of `size` items; making it costs `factor` for each. */
function allocating(factor: number, size: Range): CallEstimate {
  return { cost: add(add(scale(size, factor), one), exactly(listCost)), resultSize: size };
}

/** Returns the value of an int literal, 0 if that is negative, or `otherwise` for anything else. */
function literalInt({ expr }: CostNode, otherwise: bigint): bigint {
  if (expr?.kind !== 'literal') return otherwise;
  if (typeof expr.value !== 'number' && typeof expr.value !== 'bigint') return otherwise;
  if (typeof expr.value === 'number' && !Number.isInteger(expr.value)) return otherwise;
  const value = BigInt(expr.value);
  return value < 0n ? 0n : value;
}
