// Estimates of `replace`, `split` and `join`, whose results grow with their operands.
import { type CallEstimate, type EstimatedCall, elementOf, stringFactor } from './cost-node.ts';
import { add, largest, multiply, type Range, scale, zero } from './range.ts';

/** Reading the text and writing the result. */
const twice = 2 * stringFactor;

export function replaceEstimate(call: EstimatedCall): CallEstimate | undefined {
  const { target, args } = call;
  const [before, after] = args;
  if (target === undefined || before === undefined || after === undefined) return undefined;
  const size = call.sizeOf(target);
  const resultSize = replacedSize(size, call.sizeOf(before), call.sizeOf(after));
  return { cost: scale(size, twice), resultSize };
}

/** Returns the sizes of the shortest and longest result of replacing. */
function replacedSize(size: Range, before: Range, after: Range): Range {
  let count = zero;
  let kept = zero;
  if (before.min === 0n) {
    count = { ...count, max: aroundAll(size.max) };
    kept = { ...kept, max: size.max };
  } else if (after.max <= before.min) kept = { ...kept, max: size.max };
  else count = { ...count, max: ratio(size.max, before.min) };
  if (before.max === 0n) {
    count = { ...count, min: aroundAll(size.min) };
    kept = { ...kept, min: size.min };
  } else if (before.max <= after.min) kept = { ...kept, min: size.min };
  else count = { ...count, min: ratio(size.min, before.max) };
  return add(multiply(count, after), kept);
}

/** The empty text occurs around every character. */
function aroundAll(size: bigint): bigint {
  return size < largest ? size + 1n : size;
}

/** Rounds up, in doubles as in Go. */
function ratio(size: bigint, divisor: bigint): bigint {
  const quotient = Math.ceil(Number(size) / Number(divisor));
  return quotient >= 2 ** 64 ? 2n ** 63n : BigInt(quotient);
}

export function splitEstimate(call: EstimatedCall): CallEstimate | undefined {
  const { target, args } = call;
  if (target === undefined) return undefined;
  const size = call.sizeOf(target);
  const limit = args[1]?.expr;
  const isLimited = limit?.kind === 'literal' && (typeof limit.value === 'number' || typeof limit.value === 'bigint');
  const max = isLimited ? BigInt.asUintN(64, BigInt(limit.value as number)) : size.max;
  return { cost: scale(size, twice), resultSize: { min: 0n, max } };
}

export function joinEstimate(call: EstimatedCall): CallEstimate | undefined {
  const { target, args } = call;
  if (target === undefined) return undefined;
  const count = call.sizeOf(target);
  const element = elementOf(target);
  let size = element === undefined ? zero : multiply(count, call.sizeOf(element));
  const [separator] = args;
  if (separator !== undefined) {
    const separators = { min: oneLess(count.min), max: oneLess(count.max) };
    size = add(size, multiply(call.sizeOf(separator), separators));
  }
  return { cost: scale(size, stringFactor), resultSize: size };
}

function oneLess(count: bigint): bigint {
  return count > 0n ? count - 1n : 0n;
}
