// Operators on two small ints, of which most rules consist. Undefined when the exact computation is needed.

type FastOperator = (left: number, right: number) => number | boolean | undefined;

const safe = (result: number): number | undefined => (Number.isSafeInteger(result) ? result + 0 : undefined);

const operators: ReadonlyMap<string, FastOperator> = new Map<string, FastOperator>([
  ['_<_', (left, right) => left < right],
  ['_<=_', (left, right) => left <= right],
  ['_>_', (left, right) => left > right],
  ['_>=_', (left, right) => left >= right],
  ['_+_', (left, right) => safe(left + right)],
  ['_-_', (left, right) => safe(left - right)],
  ['_*_', (left, right) => safe(left * right)],
  ['_/_', (left, right) => (right === 0 ? undefined : safe(Math.trunc(left / right)))],
  ['_%_', (left, right) => (right === 0 ? undefined : safe(left % right))],
]);

export function fastBinary(name: string): FastOperator | undefined {
  return operators.get(name);
}
