// Finds the lines that two texts share, for json-diff.ts. Source: go-difflib SequenceMatcher; the diffs in Kubernetes'
// errors show which of several equal matches it chooses.

/** `size` equal lines from `a` in the first text and `b` in the second one. */
export interface MatchingBlock {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

interface Range {
  readonly aLow: number;
  readonly aHigh: number;
  readonly bLow: number;
  readonly bHigh: number;
}

/** From this length on, lines that occur often in the second text do not begin a match. */
const manyLines = 200;

/** Longest text, in lines, whose inner matches are looked for. */
const maxMatchedLines = 5_000;

/** Maximum number of line comparisons, about 10 ms, because the search takes quadratic time. Enough for dozens of changes of an ordinary pod. */
const maxSteps = 100_000;

/** Returns the matching blocks in order. Once the search takes too long, what is left is matched at both ends alone. */
export function matchingBlocks(a: readonly string[], b: readonly string[]): readonly MatchingBlock[] {
  const whole: Range = { aLow: 0, aHigh: a.length, bLow: 0, bHigh: b.length };
  if (Math.max(a.length, b.length) > maxMatchedLines) return joined(outerBlocks(a, b, whole));
  const search: Search = { places: rarePlaces(b), stepsLeft: maxSteps };
  const found: MatchingBlock[] = [];
  const open: Range[] = [whole];
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const block = longestMatch(a, b, { range, search });
    if (block === undefined) found.push(...outerBlocks(a, b, range));
    if (block === undefined || block.size === 0) continue;
    found.push(block);
    open.push({ ...range, aHigh: block.a, bHigh: block.b });
    open.push({ ...range, aLow: block.a + block.size, bLow: block.b + block.size });
  }
  return joined(found.sort((one, other) => one.a - other.a));
}

/** Returns what a range of both texts begins and ends with. */
function outerBlocks(a: readonly string[], b: readonly string[], range: Range): readonly MatchingBlock[] {
  const { aLow, aHigh, bLow, bHigh } = range;
  const most = Math.min(aHigh - aLow, bHigh - bLow);
  let start = 0;
  while (start < most && a[aLow + start] === b[bLow + start]) start++;
  let end = 0;
  while (end < most - start && a[aHigh - 1 - end] === b[bHigh - 1 - end]) end++;
  const blocks = [
    { a: aLow, b: bLow, size: start },
    { a: aHigh - end, b: bHigh - end, size: end },
  ];
  return blocks.filter(({ size }) => size > 0);
}

/** Line → its places in the text; lines with too many are absent. */
function rarePlaces(text: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (const [index, line] of text.entries()) {
    const known = places.get(line);
    if (known === undefined) places.set(line, [index]);
    else known.push(index);
  }
  if (text.length < manyLines) return places;
  const most = Math.floor(text.length / 100) + 1;
  for (const [line, indexes] of places) if (indexes.length > most) places.delete(line);
  return places;
}

interface Search {
  readonly places: ReadonlyMap<string, readonly number[]>;
  stepsLeft: number;
}

/** Returns the places of a line, and counts the steps that they take. Undefined without steps left. */
function takePlaces(search: Search, line = ''): readonly number[] | undefined {
  const places = search.places.get(line) ?? [];
  search.stepsLeft -= 1 + places.length;
  return search.stepsLeft < 0 ? undefined : places;
}

/** Returns the first of the longest matches, extended by lines that could not begin one. Undefined without steps left. */
function longestMatch(
  a: readonly string[],
  b: readonly string[],
  { range, search }: { readonly range: Range; readonly search: Search },
): MatchingBlock | undefined {
  const { aLow, aHigh, bLow, bHigh } = range;
  let best: MatchingBlock = { a: aLow, b: bLow, size: 0 };
  let lengths = new Map<number, number>();
  for (let i = aLow; i < aHigh; i++) {
    const next = new Map<number, number>();
    const places = takePlaces(search, a[i]);
    if (places === undefined) return undefined;
    for (const j of places) {
      if (j < bLow) continue;
      if (j >= bHigh) break;
      const size = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, size);
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
    }
    lengths = next;
  }
  return extended(a, b, { range, best });
}

function extended(
  a: readonly string[],
  b: readonly string[],
  { range, best }: { readonly range: Range; readonly best: MatchingBlock },
): MatchingBlock {
  let { a: start, b: other, size } = best;
  while (start > range.aLow && other > range.bLow && a[start - 1] === b[other - 1]) {
    start -= 1;
    other -= 1;
    size += 1;
  }
  while (start + size < range.aHigh && other + size < range.bHigh && a[start + size] === b[other + size]) size += 1;
  return { a: start, b: other, size };
}

/** Joins blocks that touch each other in both texts. */
function joined(blocks: readonly MatchingBlock[]): readonly MatchingBlock[] {
  const result: MatchingBlock[] = [];
  for (const block of blocks) {
    const last = result.at(-1);
    if (last !== undefined && last.a + last.size === block.a && last.b + last.size === block.b)
      result[result.length - 1] = { ...last, size: last.size + block.size };
    else result.push(block);
  }
  return result;
}
