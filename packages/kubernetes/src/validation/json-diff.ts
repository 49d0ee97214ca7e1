// Shows the differences between two values as a unified diff of their indented JSON. Kubernetes shows it for a spec that may
// not be changed, over its internal types (internal-form.ts). Source: apimachinery/pkg/util/diff, go-difflib.
import { internalForm } from './internal-form.ts';
import { type MatchingBlock, matchingBlocks } from './line-matcher.ts';

const contextLines = 3;

/** Returns the diff between two values of an internal type. */
export function internalDiff(type: string, old: unknown, next: unknown): string {
  return jsonDiff(internalForm(type, old), internalForm(type, next));
}

/** Returns the hunks; "" when nothing differs. */
export function jsonDiff(old: unknown, next: unknown): string {
  const before = linesOf(old);
  const after = linesOf(next);
  return hunksOf(changesOf(matchingBlocks(before, after), before, after))
    .map((changes) => hunkText(changes, before, after))
    .join('');
}

/** A run of lines that differ: `[aStart, aEnd)` of the first text became `[bStart, bEnd)` of the second one. */
interface Change {
  readonly aStart: number;
  readonly aEnd: number;
  readonly bStart: number;
  readonly bEnd: number;
}

function changesOf(blocks: readonly MatchingBlock[], before: readonly string[], after: readonly string[]): Change[] {
  const changes: Change[] = [];
  let [a, b] = [0, 0];
  for (const block of [...blocks, { a: before.length, b: after.length, size: 0 }]) {
    if (a < block.a || b < block.b) changes.push({ aStart: a, aEnd: block.a, bStart: b, bEnd: block.b });
    a = block.a + block.size;
    b = block.b + block.size;
  }
  return changes;
}

/** Changes whose surrounding lines meet are shown together. */
function hunksOf(changes: readonly Change[]): Change[][] {
  const hunks: Change[][] = [];
  for (const change of changes) {
    const hunk = hunks.at(-1);
    const last = hunk?.at(-1);
    if (hunk !== undefined && last !== undefined && change.aStart - last.aEnd <= 2 * contextLines) hunk.push(change);
    else hunks.push([change]);
  }
  return hunks;
}

function hunkText(changes: readonly Change[], before: readonly string[], after: readonly string[]): string {
  const first = changes[0] as Change;
  const last = changes.at(-1) as Change;
  const head = Math.min(contextLines, first.aStart);
  const tail = Math.min(contextLines, before.length - last.aEnd);
  const lines: string[] = [];
  let shown = first.aStart - head;
  for (const { aStart, aEnd, bStart, bEnd } of changes) {
    mark(lines, ' ', before.slice(shown, aStart));
    mark(lines, '-', before.slice(aStart, aEnd));
    mark(lines, '+', after.slice(bStart, bEnd));
    shown = aEnd;
  }
  mark(lines, ' ', before.slice(shown, shown + tail));
  const ranges = [rangeText(first.aStart - head, last.aEnd + tail), rangeText(first.bStart - head, last.bEnd + tail)];
  return `@@ -${ranges[0]} +${ranges[1]} @@\n${lines.join('')}`;
}

/** Source: formatRangeUnified. */
function rangeText(start: number, end: number): string {
  const length = end - start;
  if (length === 1) return String(start + 1);
  return `${length === 0 ? start : start + 1},${length}`;
}

function linesOf(value: unknown): string[] {
  return (JSON.stringify(value, undefined, 1) ?? 'null').replace(/[<>&]/g, escaped).split('\n');
}

/** Go's encoder escapes these characters. */
const escaped = (character: string): string => `\\u00${character.charCodeAt(0).toString(16)}`;

/** Appends one by one: a call takes no hundreds of thousands of arguments. */
function mark(target: string[], sign: string, lines: readonly string[]): void {
  for (const line of lines) target.push(`${sign}${line}\n`);
}
