// Parses lists of completion indexes: "1,3-5,7". Source: pkg/apis/batch/validation validateIndexesFormat.

type Interval = readonly [number, number];

/** Returns the number of indexes in the list, or its fault. */
export function countIndexes(text: string, completions: number): number | string {
  if (text === '') return 0;
  let last: number | undefined;
  let total = 0;
  for (const part of text.split(',')) {
    const interval = parseInterval(part, completions);
    if (typeof interval === 'string') return interval;
    const [first, end] = interval;
    if (last !== undefined && last >= first) return `non-increasing order, previous: ${last}, current: ${first}`;
    total += end - first + 1;
    last = end;
  }
  return total;
}

/** Returns the first index in both lists; unreadable parts count as empty. */
export function commonIndex(one: string, other: string, completions: number): number | undefined {
  const intervals = (text: string): Interval[] =>
    text === ''
      ? []
      : text.split(',').flatMap((part) => {
          const interval = parseInterval(part, completions);
          return typeof interval === 'string' ? [] : [interval];
        });
  // Valid lists rise, so one walk along both finds a common index.
  const [ours, others] = [intervals(one).sort(byStart), intervals(other).sort(byStart)];
  let index = 0;
  for (const [first, end] of ours) {
    while (index < others.length && (others[index]?.[1] ?? 0) < first) index += 1;
    const [from] = others[index] ?? [Number.POSITIVE_INFINITY];
    if (from <= end) return Math.max(first, from);
  }
  return undefined;
}

const byStart = ([a]: Interval, [b]: Interval): number => a - b;

function parseInterval(text: string, completions: number): Interval | string {
  const limits = text.split('-');
  if (limits.length > 2)
    return `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  const numbers: number[] = [];
  for (const limit of limits) {
    if (!/^\+?\d+$/.test(limit)) return `cannot convert string to integer for index: ${JSON.stringify(limit)}`;
    if (Number(limit) >= completions) return `too large index: ${JSON.stringify(limit)}`;
    numbers.push(Number(limit));
  }
  const [first = 0, end = first] = numbers;
  if (numbers.length > 1 && first >= end) return `non-increasing order, previous: ${first}, current: ${end}`;
  return [first, end];
}
