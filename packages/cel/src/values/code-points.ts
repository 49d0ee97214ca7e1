// Counts code points of texts, as expressions do. Counting a long text costs only one unit, so the counts of the last
// few long texts are kept.

const surrogate = /[\ud800-\udfff]/;

interface Counted {
  readonly text: string;
  readonly count: number;
}

/** Texts of this length or more are counted once, while they are among the last few. */
const longText = 4096;
const recent: Counted[] = [];
const maxRecent = 8;
let nextRecent = 0;

/** Returns the number of code points; a lone surrogate counts as one. */
export function codePointCount(text: string): number {
  if (text.length < longText) return count(text);
  const known = recent.find((counted) => counted.text.length === text.length && counted.text === text);
  if (known !== undefined) return known.count;
  const counted = { text, count: count(text) };
  recent[nextRecent] = counted;
  nextRecent = (nextRecent + 1) % maxRecent;
  return counted.count;
}

function count(text: string): number {
  if (!surrogate.test(text)) return text.length;
  let points = 0;
  for (let i = 0; i < text.length; points++) i += unitsAt(text, i);
  return points;
}

function unitsAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit < 0xd800 || unit > 0xdbff) return 1;
  const next = text.charCodeAt(at + 1);
  return next >= 0xdc00 && next <= 0xdfff ? 2 : 1;
}

/** Returns the UTF-16 offset of a code point, which must not exceed the number of code points. */
export function unitOffsetOf(text: string, point: number): number {
  if (codePointCount(text) === text.length) return point;
  let unit = 0;
  for (let i = 0; i < point; i++) unit += unitsAt(text, unit);
  return unit;
}

/** Returns the text between two code points. */
export function codePointSlice(text: string, start: number, end: number): string {
  const from = unitOffsetOf(text, start);
  if (codePointCount(text) === text.length) return text.slice(from, end);
  let to = from;
  for (let i = start; i < end && to < text.length; i++) to += unitsAt(text, to);
  return text.slice(from, to);
}
