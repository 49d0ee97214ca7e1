// Finds parts that texts of objects have in common, and replaces them with stand-ins. Used by sharing-parser.ts.
import { randomBytes } from 'node:crypto';
import { parseJson } from '@kapstan/api';
import { deepFreeze } from '@kapstan/api/internal';
import type { ContainerSpan } from './container-spans.ts';

/** An object or array that similar objects have in common. */
export interface SharedPart {
  /** The text, including the name when the part is a member of an object. */
  readonly text: string;
  /** The first characters of the text, used to search for it. */
  readonly head: string;
  /** Text that is parsed in its place: the name, and the mark. */
  readonly standIn: string;
  /** Unique for each part, so that two parts that change places are not confused. */
  readonly mark: string;
  /** Its path within an object. */
  readonly path: readonly (string | number)[];
  /** Frozen, because many objects share it. */
  readonly value: unknown;
  /** Characters between the previous part and this one, in the last text that had it. */
  gap: number;
}

/** An object within a text. */
export interface SpannedText {
  readonly text: string;
  readonly span: ContainerSpan;
}

// Minimum length of a part, in characters. Shorter parts take as long to find as to parse.
const minPartLength = 48;
const maxParts = 64;
const maxDepth = 16;
// Freezing recurses, so the height is limited.
const maxHeight = 100;
const headLength = 24;
/** Distance in characters from the expected position, in both directions, within which a part is searched. */
const drift = 256;
// A new secret in each process, so that no text from a server can imitate a mark.
const secret = randomBytes(6).toString('base64url');

/**
 * Returns the largest parts of `one` that `other` has in the same place, in text order. `known`: earlier parts, whose values are reused if
 * the text is equal.
 */
export function commonParts(one: SpannedText, other: SpannedText, known: readonly SharedPart[]): readonly SharedPart[] {
  const parts: SharedPart[] = [];
  let end = 0;
  const visit = (span: ContainerSpan, twin: ContainerSpan, path: readonly (string | number)[]): void => {
    if (path.length > maxDepth || parts.length === maxParts) return;
    const text = one.text.slice(span.memberStart, span.end);
    const isShared = path.length > 0 && span.height <= maxHeight;
    if (isShared && text === other.text.slice(twin.memberStart, twin.end)) {
      const valueStart = span.start - span.memberStart;
      const mark = `${secret}${parts.length}`;
      parts.push(sharedPart({ text, valueStart, mark, path, gap: twin.memberStart - end }, known));
      end = twin.end;
    } else for (const [child, its] of pairs(span.children, twin.children)) visit(child, its, [...path, child.key]);
  };
  visit(one.span, other.span, []);
  return parts;
}

/** Yields pairs of large children with the same name, while both sides have them in the same order. */
function* pairs(
  children: readonly ContainerSpan[],
  others: readonly ContainerSpan[],
): Generator<[ContainerSpan, ContainerSpan]> {
  const twins = new Map(others.filter(isLarge).map((other) => [other.key, other]));
  let end = 0;
  for (const child of children) {
    const twin = isLarge(child) ? twins.get(child.key) : undefined;
    if (twin === undefined || twin.start < end) continue;
    end = twin.end;
    yield [child, twin];
  }
}

function isLarge({ start, end }: ContainerSpan): boolean {
  return end - start >= minPartLength;
}

interface FoundPart extends Pick<SharedPart, 'text' | 'mark' | 'path' | 'gap'> {
  /** Start of the value within the text. */
  readonly valueStart: number;
}

function sharedPart({ text, valueStart, ...rest }: FoundPart, known: readonly SharedPart[]): SharedPart {
  const same = known.find((part) => part.text === text);
  const own = same?.text ?? ownCopy(text);
  return {
    ...rest,
    text: own,
    head: own.slice(0, headLength),
    standIn: `${own.slice(0, valueStart)}"${rest.mark}"`,
    // The value is parsed again, because a caller that received the object may have changed its parts.
    value: same?.value ?? deepFreeze(parseJson(own.slice(valueStart)) as object),
  };
}

/**
 * Copies the slice, which would otherwise keep the whole text alive. Text decoded from UTF-8 has no lone surrogates, which this copy would
 * replace.
 */
function ownCopy(text: string): string {
  return Buffer.from(text).toString();
}

/** A text without its shared parts. */
export interface ReducedText {
  /** The text with stand-ins for the parts. */
  readonly text: string;
  readonly cut: readonly SharedPart[];
}

export function cutOut(parts: readonly SharedPart[], text: string): ReducedText {
  const cut: SharedPart[] = [];
  let reduced = '';
  let end = 0;
  // End of the previous part, or the place where it would end.
  let last = 0;
  for (const part of parts) {
    const { length } = part.text;
    const expected = last + part.gap;
    const start = placeOf(part, text, { from: end, expected });
    last = (start < 0 ? expected : start) + length;
    if (start < 0) continue;
    part.gap += start - expected;
    cut.push(part);
    reduced += text.slice(end, start) + part.standIn;
    end = last;
  }
  return { text: reduced + text.slice(end), cut };
}

/** Returns the start of the part; -1 when it is not at or near its expected place. */
function placeOf(
  { text: part, head }: SharedPart,
  text: string,
  { from, expected }: { readonly from: number; readonly expected: number },
): number {
  // startsWith would compare one character at a time.
  const isAt = (start: number): boolean => text.slice(start, start + part.length) === part;
  if (expected >= from && isAt(expected)) return expected;
  const windowStart = Math.max(from, expected - drift);
  const offset = text.slice(windowStart, expected + drift).indexOf(head);
  return offset >= 0 && isAt(windowStart + offset) ? windowStart + offset : -1;
}

/**
 * Puts the cut parts back into the object. Returns false when a stand-in is not where its part belongs. True means that the object equals
 * the one in the whole text, because JSON's grammar allows any value in place of another.
 */
export function putBack(cut: readonly SharedPart[], object: unknown): boolean {
  return cut.every((part) => putOneBack(part, object));
}

function putOneBack({ path, mark, value }: SharedPart, object: unknown): boolean {
  let holder = object;
  const last = path.length - 1;
  for (let index = 0; index < last; index++) {
    if (!isContainer(holder)) return false;
    holder = holder[path[index] as string | number];
  }
  const key = path[last] as string | number;
  // Only an own member can equal the mark, so "__proto__" and other inherited members are safe to read here.
  if (!isContainer(holder) || holder[key] !== mark) return false;
  holder[key] = value;
  return true;
}

function isContainer(value: unknown): value is Record<string | number, unknown> {
  return typeof value === 'object' && value !== null;
}
