// Finds the clauses of format strings (`%s`, `%.2f`). A handler processes the argument of a clause: the library formats
// it, the validator checks its type.
import { CelFailure } from './failure.ts';

type FormatVerb = 'b' | 'd' | 'e' | 'f' | 'o' | 's' | 'x' | 'X';

export interface FormatClause {
  readonly verb: FormatVerb;
  /** Undefined when not given. */
  readonly precision: number | undefined;
  /** Index of the argument. */
  readonly index: number;
}

/** A failure with the position of the argument that caused it, if one did. */
export class FormatFailure extends CelFailure {
  readonly place: unknown;

  constructor(message: string, place?: unknown) {
    super(message);
    this.place = place;
  }
}

export interface FormatHandler {
  readonly argCount: number;
  /** True if a missing argument is reported before the clause's form is checked. */
  readonly checksArgFirst: boolean;
  /** Called for each argument that a clause uses. */
  onArg?(): void;
  format(clause: FormatClause): string | FormatFailure;
}

const verbs = new Set(['b', 'd', 'e', 'f', 'o', 's', 'x', 'X']);
/** Digits beyond a double's precision are zeros. The limit keeps one clause from filling the memory. */
const maxPrecision = 100_000;

/** Returns the text with every clause replaced by the handler's result. */
export function formatClauses(text: string, handler: FormatHandler): string | FormatFailure {
  let result = '';
  let index = 0;
  for (let at = 0; at < text.length; ) {
    const mark = text.indexOf('%', at);
    if (mark < 0) return result + text.slice(at);
    result += text.slice(at, mark);
    if (text[mark + 1] === '%') {
      result += '%';
      at = mark + 2;
      continue;
    }
    const part = formatClause({ text, mark, index }, handler);
    if (part instanceof FormatFailure) return part;
    result += part.text;
    at = part.end;
    index++;
  }
  return result;
}

interface ClauseStart {
  readonly text: string;
  readonly mark: number;
  readonly index: number;
}

function formatClause(start: ClauseStart, handler: FormatHandler): { text: string; end: number } | FormatFailure {
  const { text, mark, index } = start;
  const outOfRange = new FormatFailure(`index ${index} out of range`);
  if (handler.checksArgFirst && index >= handler.argCount) return outOfRange;
  handler.onArg?.();
  if (mark + 1 >= text.length) return new FormatFailure('unexpected end of string');
  if (index >= handler.argCount) return outOfRange;
  const clause = readClause(text, mark + 1, index);
  if (clause instanceof FormatFailure) {
    return new FormatFailure(`could not parse formatting clause: ${clause.message}`);
  }
  const formatted = handler.format(clause.clause);
  if (formatted instanceof FormatFailure) {
    return new FormatFailure(`error during formatting: ${formatted.message}`, formatted.place);
  }
  return { text: formatted, end: clause.end };
}

function readClause(text: string, from: number, index: number): { clause: FormatClause; end: number } | FormatFailure {
  const precision = readPrecision(text, from);
  if (precision instanceof FormatFailure) return precision;
  const verb = text[precision.end] ?? '';
  if (!verbs.has(verb)) {
    const shown = String.fromCharCode(firstByte(verb));
    return new FormatFailure(`unrecognized formatting clause "${shown}"`);
  }
  return { clause: { verb: verb as FormatVerb, precision: precision.value, index }, end: precision.end + 1 };
}

function readPrecision(text: string, from: number): { value: number | undefined; end: number } | FormatFailure {
  if (text[from] !== '.') return { value: undefined, end: from };
  let end = from + 1;
  while (end < text.length && /\d/.test(text.charAt(end))) end++;
  if (end >= text.length) {
    return new FormatFailure('error while parsing precision: could not find end of precision specifier');
  }
  const digits = text.slice(from + 1, end);
  const failed = `error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "${digits}"`;
  if (digits === '') return new FormatFailure(`${failed}: invalid syntax`);
  const value = Number(digits);
  if (value > 2 ** 63) return new FormatFailure(`${failed}: value out of range`);
  return value > maxPrecision
    ? new FormatFailure(`precisions above ${maxPrecision} are not supported`)
    : { value, end };
}

/** Go reads bytes, so a character beyond ASCII is shown as the first byte of its UTF-8 form. */
function firstByte(char: string): number {
  const code = char.charCodeAt(0);
  if (!(code >= 0x80)) return code;
  if (code < 0x800) return 0xc0 | (code >> 6);
  return code >= 0xd800 && code <= 0xdbff ? 0xf0 | ((code - 0xd800 + 0x40) >> 8) : 0xe0 | (code >> 12);
}
