// Parts that texts of objects have in common, and texts with stand-ins in their place. Used by sharing-parser.ts.
import { randomBytes } from 'node:crypto';
import { deepFreeze, parseJson } from '@kapstan/api';
import type { ContainerSpan } from './container-spans.ts';

/** An object or array that objects which are alike have in common. */
export interface SharedPart {
  /** Its text, with its name where it stands in an object. */
  readonly text: string;
  /** How that begins: to be looked for. */
  readonly head: string;
  /** What is parsed in its place. */
  readonly standIn: string;
  /** Where it belongs in an object. */
  readonly path: readonly (string | number)[];
  /** Frozen, because many objects hold it. */
  readonly value: unknown;
  /** Characters between the part before and this one in the last text that had it. */
  gap: number;
  /** Whether the last text had it. */
  isCut: boolean;
}

/** An object within a text. */
export interface SpannedText {
  readonly text: string;
  readonly span: ContainerSpan;
}

// In characters. Shorter ones cost as much to look for as to parse.
const minPartLength = 48;
const maxParts = 64;
const maxDepth = 16;
const headLength = 24;
/** How much further on or back than last time a part is looked for. */
const drift = 64;
// A new secret in each process, so that no text of a server can pass for it.
const mark = randomBytes(7).toString('base64url');

/** The largest parts of the one that the other has in the same place, in the order of the text. */
export function commonParts(one: SpannedText, other: SpannedText): readonly SharedPart[] {
  const parts: SharedPart[] = [];
  let end = 0;
  const visit = (span: ContainerSpan, twin: ContainerSpan, path: readonly (string | number)[]): void => {
    if (span.end - span.start < minPartLength || path.length > maxDepth || parts.length === maxParts) return;
    const text = one.text.slice(span.memberStart, span.end);
    if (path.length > 0 && text === other.text.slice(twin.memberStart, twin.end)) {
      parts.push(sharedPart(text, { span, path, gap: twin.memberStart - end }));
      end = twin.end;
    } else for (const [child, its] of pairs(span.children, twin.children)) visit(child, its, [...path, child.key]);
  };
  visit(one.span, other.span, []);
  return parts;
}

/** Children of the same name, as long as they come in the same order. */
function* pairs(
  children: readonly ContainerSpan[],
  others: readonly ContainerSpan[],
): Generator<[ContainerSpan, ContainerSpan]> {
  let next = 0;
  for (const child of children) {
    const index = others.findIndex(({ key }, at) => at >= next && key === child.key);
    if (index < 0) continue;
    next = index + 1;
    yield [child, others[index] as ContainerSpan];
  }
}

interface FoundPart {
  readonly span: ContainerSpan;
  readonly path: readonly (string | number)[];
  readonly gap: number;
}

function sharedPart(text: string, { span, path, gap }: FoundPart): SharedPart {
  const valueStart = span.start - span.memberStart;
  return {
    text: ownCopy(text),
    head: ownCopy(text.slice(0, headLength)),
    standIn: ownCopy(`${text.slice(0, valueStart)}"${mark}"`),
    path,
    // Parsed anew: who was given the object may have changed it.
    value: deepFreeze(parseJson(text.slice(valueStart)) as object),
    gap,
    isCut: false,
  };
}

/** A slice would keep the whole text alive. */
function ownCopy(text: string): string {
  return Buffer.from(text).toString();
}

/** The text with a stand-in for each part that it has, which is said of the part; the text itself when it has none. */
export function cutOut(parts: readonly SharedPart[], text: string): string {
  let reduced = '';
  let end = 0;
  for (const part of parts) {
    const start = placeOf(part, text, end);
    part.isCut = start >= 0;
    if (start < 0) continue;
    part.gap = start - end;
    reduced += text.slice(end, start) + part.standIn;
    end = start + part.text.length;
  }
  return end === 0 ? text : reduced + text.slice(end);
}

/** Where the part begins, at or after `from`; -1: nowhere. As a rule it stands where it stood, or nearly. */
function placeOf({ text: part, head, gap }: SharedPart, text: string, from: number): number {
  const { length } = part;
  const expected = from + gap;
  // startsWith would compare one character at a time.
  if (text.slice(expected, expected + length) === part) return expected;
  const start = text.indexOf(head, Math.max(from, expected - drift));
  return start >= 0 && text.slice(start, start + length) === part ? start : -1;
}

/**
 * Puts the parts that were cut out back into the object. False: a stand-in is not where its part belongs. True means that the object
 * is that of the whole text, by the grammar of JSON: where one value stands, another may.
 */
export function putBack(parts: readonly SharedPart[], object: unknown): boolean {
  for (const part of parts) if (part.isCut && !putOneBack(part, object)) return false;
  return true;
}

function putOneBack({ path, value }: SharedPart, object: unknown): boolean {
  let holder = object;
  const last = path.length - 1;
  for (let index = 0; index < last; index++) {
    if (!isContainer(holder)) return false;
    holder = holder[path[index] as string | number];
  }
  const key = path[last] as string | number;
  // An own member, whatever its name: nothing inherited is the mark.
  if (!isContainer(holder) || holder[key] !== mark) return false;
  holder[key] = value;
  return true;
}

function isContainer(value: unknown): value is Record<string | number, unknown> {
  return typeof value === 'object' && value !== null;
}
