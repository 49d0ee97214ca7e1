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

/** Returns the matching blocks in order. */
export function matchingBlocks(a: readonly string[], b: readonly string[]): readonly MatchingBlock[] {
  const places = rarePlaces(b);
  const found: MatchingBlock[] = [];
  const open: Range[] = [{ aLow: 0, aHigh: a.length, bLow: 0, bHigh: b.length }];
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const block = longestMatch(a, b, { range, places });
    if (block.size === 0) continue;
    found.push(block);
    open.push({ ...range, aHigh: block.a, bHigh: block.b });
    open.push({ ...range, aLow: block.a + block.size, bLow: block.b + block.size });
  }
  return joined(found.sort((one, other) => one.a - other.a));
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
  readonly range: Range;
  readonly places: ReadonlyMap<string, readonly number[]>;
}

/** Returns the first of the longest matches, extended by lines that could not begin one. */
function longestMatch(a: readonly string[], b: readonly string[], { range, places }: Search): MatchingBlock {
  const { aLow, aHigh, bLow, bHigh } = range;
  let best: MatchingBlock = { a: aLow, b: bLow, size: 0 };
  let lengths = new Map<number, number>();
  for (let i = aLow; i < aHigh; i++) {
    const next = new Map<number, number>();
    for (const j of places.get(a[i] ?? '') ?? []) {
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
