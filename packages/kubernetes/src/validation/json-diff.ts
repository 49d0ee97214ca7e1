// Shows the differences between two values as the hunk of a unified diff over their indented JSON. Kubernetes shows it
// for a spec that may not be changed, over its internal types (internal-form.ts).
import { internalForm } from './internal-form.ts';

const contextLines = 3;

/** Returns the diff between two values of an internal type. */
export function internalDiff(type: string, old: unknown, next: unknown): string {
  return jsonDiff(internalForm(type, old), internalForm(type, next));
}

/** Returns one hunk from the first to the last differing line; "" when there are none. */
export function jsonDiff(old: unknown, next: unknown): string {
  const before = linesOf(old);
  const after = linesOf(next);
  const start = commonPrefix(before, after);
  const shared = Math.min(before.length, after.length) - start;
  const end = commonSuffix(before, after, shared);
  if (start === before.length && start === after.length) return '';
  const from = Math.max(0, start - contextLines);
  const tail = before.slice(before.length - end, before.length - end + contextLines);
  const removed = before.slice(start, before.length - end);
  const added = after.slice(start, after.length - end);
  const head = before.slice(from, start);
  const sizes = [head.length + removed.length + tail.length, head.length + added.length + tail.length];
  const lines = [...mark(' ', head), ...mark('-', removed), ...mark('+', added), ...mark(' ', tail)];
  return `@@ -${from + 1},${sizes[0]} +${from + 1},${sizes[1]} @@\n${lines.join('')}`;
}

function linesOf(value: unknown): string[] {
  return (JSON.stringify(value, undefined, 1) ?? 'null').replace(/[<>&]/g, escaped).split('\n');
}

/** Go's encoder writes these characters so. */
const escaped = (character: string): string => `\\u00${character.charCodeAt(0).toString(16)}`;

function commonPrefix(a: readonly string[], b: readonly string[]): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

function commonSuffix(a: readonly string[], b: readonly string[], max: number): number {
  let length = 0;
  while (length < max && a[a.length - 1 - length] === b[b.length - 1 - length]) length++;
  return length;
}

function mark(sign: string, lines: readonly string[]): string[] {
  return lines.map((line) => `${sign}${line}\n`);
}
