// Parses JSON as Go's scanner does, with the same refusals and texts. Used when Go's reason for a refusal is needed,
// when members repeat, and when a number must keep its spelling.

import { rememberSize, runWhole, type SlicedWork } from '../time/sliced-work.ts';
import { ExactNumber, isExactAsDouble, setOwn } from './json.ts';

/** Deepest nesting that is read. Go allows 10,000, but here every later walk of the value recurses. */
export const maxJsonDepth = 1000;

/** The text is not JSON. The message comes from Go's encoding/json. */
export class JsonSyntaxError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'JsonSyntaxError';
  }
}

/** A value has more parts, or its JSON more bytes, than was allowed. It may be valid otherwise. */
export class JsonLimitError extends Error {
  override readonly name = 'JsonLimitError';
}

/** How much one text may hold. */
export interface JsonLimits {
  /** Maximum number of values: members of all objects and items of all lists. */
  readonly maxValues: number;
  /** Maximum number of members of one object. */
  readonly maxMembers: number;
}

/** Limits that nothing exceeds. */
export const noJsonLimits: JsonLimits = { maxValues: Number.POSITIVE_INFINITY, maxMembers: Number.POSITIVE_INFINITY };

/** All members of an object in the order of the text, including repetitions. */
export type MemberList = readonly (readonly [name: string, value: unknown])[];

export interface SlowRead {
  readonly value: unknown;
  /** The objects in which a name repeats. */
  readonly repeats: ReadonlyMap<object, MemberList>;
}

/**
 * Which numbers become {@link ExactNumber}: those that would print differently ('as written', the default), or only the
 * integers among them ('rounded'), so that 1.0 is 1; a number that no double can hold is then refused.
 */
export type JsonNumbers = 'as written' | 'rounded';

/** Reads a whole text. Throws JsonSyntaxError. */
export function readJsonSlowly(text: string, numbers?: JsonNumbers): SlowRead {
  return runWhole(readJsonInSlices(text, undefined, numbers));
}

/**
 * Does what {@link readJsonSlowly} does in slices: a body of 3 MiB takes a tenth of a second. Throws {@link JsonLimitError} for a text
 * beyond the limits. Default: no limits.
 */
export function readJsonInSlices(text: string, limits?: JsonLimits, numbers?: JsonNumbers): SlicedWork<SlowRead> {
  return new Scanner(text, { limits, numbers }).document();
}

/** Does what parseJson does in slices, for a text of any length. Throws JsonSyntaxError. Default: no limits. */
export function* parseJsonInSlices(text: string, limits?: JsonLimits): SlicedWork<unknown> {
  const { value } = yield* new Scanner(text, { numbers: 'nearest', limits }).document();
  return value;
}

/** Returns Go's error for bytes that are not JSON, or undefined. It reads byte by byte, whatever the encoding. */
export function jsonSyntaxFault(bytes: Uint8Array): string | undefined {
  try {
    runWhole(new Scanner(oneCharacterPerByte(bytes), { units: 'bytes' }).document());
    return undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message;
    throw error;
  }
}

function oneCharacterPerByte(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += bytesPerCall)
    text += String.fromCharCode(...bytes.subarray(at, at + bytesPerCall));
  return text;
}

/** Arguments of one call are few enough for every stack. */
const bytesPerCall = 4_096;
const beginning = 'looking for beginning of value';
const valuesPerSlice = 512;
/**
 * Longest string that is cut from the text. JSON.parse copies longer ones, where a slice would keep the whole text in
 * memory, and is faster with escapes.
 */
const shortString = 12;

const whitespace = /[ \t\r\n]*/y;
const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings end at control characters.
const plainRun = /[^"\\\u0000-\u001f]*/y;
const hex4 = /^[0-9a-fA-F]{4}$/;
const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

interface ScannerOptions {
  /** Whether a character of the text stands for a character or for a byte. Default: 'characters'. */
  readonly units?: 'characters' | 'bytes';
  /** 'nearest': a number that a double holds with all digits becomes one, however it is written. Default: 'as written'. */
  readonly numbers?: JsonNumbers | 'nearest' | undefined;
  readonly limits?: JsonLimits | undefined;
}

class Scanner {
  readonly #text: string;
  readonly #units: 'characters' | 'bytes';
  readonly #numbers: JsonNumbers | 'nearest';
  readonly #limits: JsonLimits;
  readonly #repeats = new Map<object, MemberList>();
  #at = 0;
  #depth = 0;
  #values = 0;

  constructor(
    text: string,
    { units = 'characters', numbers = 'as written', limits = noJsonLimits }: ScannerOptions = {},
  ) {
    this.#text = text;
    this.#units = units;
    this.#numbers = numbers;
    this.#limits = limits;
  }

  *document(): SlicedWork<SlowRead> {
    const value = yield* this.#value(beginning);
    this.#skipWhitespace();
    if (this.#at < this.#text.length) this.#refuse('after top-level value');
    return { value, repeats: this.#repeats };
  }

  *#value(where: string): SlicedWork<unknown> {
    this.#skipWhitespace();
    const char = this.#text[this.#at];
    if (char === '{') return yield* this.#nested(this.#object());
    if (char === '[') return yield* this.#nested(this.#array());
    return this.#scalar(char, where);
  }

  /** True for a member or item that contains others; only these need a generator. */
  #isNested(): boolean {
    this.#skipWhitespace();
    const char = this.#text[this.#at];
    return char === '{' || char === '[';
  }

  /** Counts a value. True after as many values as fit in a slice. */
  #isLong(): boolean {
    if (++this.#values > this.#limits.maxValues) throw new JsonLimitError(`more than ${this.#limits.maxValues} values`);
    return this.#values % valuesPerSlice === 0;
  }

  #scalar(char: string | undefined, where: string): unknown {
    switch (char) {
      case '"':
        return this.#string();
      case 't':
        return this.#literal('true', true);
      case 'f':
        return this.#literal('false', false);
      case 'n':
        return this.#literal('null', null);
      default:
        return char !== undefined && (char === '-' || isDigit(char)) ? this.#number() : this.#refuse(where);
    }
  }

  *#nested<T>(reading: SlicedWork<T>): SlicedWork<T> {
    if (++this.#depth > maxJsonDepth) this.#refuse('exceeded max depth');
    this.#at++;
    const value = yield* reading;
    this.#depth--;
    return value;
  }

  *#object(): SlicedWork<Record<string, unknown>> {
    const object: Record<string, unknown> = {};
    const members: [string, unknown][] = [];
    let repeated = false;
    this.#skipWhitespace();
    if (this.#take('}')) return object;
    for (;;) {
      this.#skipWhitespace();
      if (this.#text[this.#at] !== '"') this.#refuse('looking for beginning of object key string');
      const name = this.#string();
      this.#skipWhitespace();
      if (!this.#take(':')) this.#refuse('after object key');
      const value = this.#isNested() ? yield* this.#value(beginning) : this.#scalar(this.#text[this.#at], beginning);
      if (this.#isLong()) yield;
      repeated ||= Object.hasOwn(object, name);
      members.push([name, value]);
      this.#limitMembers(members.length);
      setOwn(object, name, value);
      this.#skipWhitespace();
      if (this.#take('}')) break;
      if (!this.#take(',')) this.#refuse('after object key:value pair');
    }
    if (repeated) this.#repeats.set(object, members);
    rememberSize(object, members.length);
    return object;
  }

  #limitMembers(count: number): void {
    const { maxMembers } = this.#limits;
    if (count > maxMembers) throw new JsonLimitError(`an object with more than ${maxMembers} members`);
  }

  *#array(): SlicedWork<unknown[]> {
    const items: unknown[] = [];
    this.#skipWhitespace();
    if (this.#take(']')) return items;
    for (;;) {
      items.push(this.#isNested() ? yield* this.#value(beginning) : this.#scalar(this.#text[this.#at], beginning));
      if (this.#isLong()) yield;
      this.#skipWhitespace();
      if (this.#take(']')) return items;
      if (!this.#take(',')) this.#refuse('after array element');
    }
  }

  #string(): string {
    const whole = this.#longString();
    if (whole !== undefined) return whole;
    let result = '';
    let start = ++this.#at;
    for (;;) {
      plainRun.lastIndex = this.#at;
      plainRun.test(this.#text);
      this.#at = plainRun.lastIndex;
      const char = this.#text[this.#at];
      if (char === '"') break;
      if (char !== '\\') this.#refuse('in string literal');
      result += this.#text.slice(start, this.#at) + this.#escape();
      start = this.#at;
    }
    return result + this.#text.slice(start, this.#at++);
  }

  /** Reads a long string with escapes if JSON.parse accepts it. */
  #longString(): string | undefined {
    const open = this.#at;
    if (this.#units === 'bytes') return undefined;
    const close = endOfJsonString(this.#text, open);
    if (close - open < shortString || close === this.#text.length) return undefined;
    try {
      const text = JSON.parse(this.#text.slice(open, close + 1)) as string;
      this.#at = close + 1;
      return text;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  #escape(): string {
    const char = this.#text[++this.#at];
    if (char !== 'u') {
      const plain = char === undefined ? undefined : escapes.get(char);
      if (plain === undefined) return this.#refuseInToken('in string escape code');
      this.#at++;
      return plain;
    }
    const digits = this.#text.slice(this.#at + 1, this.#at + 5);
    if (!hex4.test(digits)) {
      this.#at += 1 + Math.max(0, digits.search(/[^0-9a-fA-F]|$/));
      return this.#refuseInToken('in \\u hexadecimal character escape');
    }
    this.#at += 5;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #number(): number | ExactNumber {
    numberToken.lastIndex = this.#at;
    const token = numberToken.exec(this.#text)?.[0];
    if (token === undefined) {
      this.#at++;
      return this.#refuseInToken('in numeric literal');
    }
    this.#at += token.length;
    this.#refuseBrokenNumber(token);
    const value = Number(token);
    if (this.#numbers === 'rounded' && !Number.isFinite(value)) throw new JsonSyntaxError(`${token} is out of range`);
    const isKept = String(value) === token || (Number.isFinite(value) && this.#isRounded(token));
    return isKept ? value : new ExactNumber(token);
  }

  #isRounded(token: string): boolean {
    if (this.#numbers === 'rounded') return /[.eE]/.test(token);
    return this.#numbers === 'nearest' && isExactAsDouble(token);
  }

  #refuseBrokenNumber(token: string): void {
    const next = this.#text[this.#at];
    if (next === '.' && !/[.eE]/.test(token)) {
      this.#at++;
      this.#refuseInToken('after decimal point in numeric literal');
    }
    if ((next === 'e' || next === 'E') && !/[eE]/.test(token)) {
      const sign = this.#text[++this.#at];
      if (sign === '+' || sign === '-') this.#at++;
      this.#refuseInToken('in exponent of numeric literal');
    }
  }

  #literal<T>(word: string, value: T): T {
    for (const expected of word) {
      if (this.#text[this.#at] !== expected) this.#refuseInToken(`in literal ${word} (expecting '${expected}')`);
      this.#at++;
    }
    return value;
  }

  #skipWhitespace(): void {
    whitespace.lastIndex = this.#at;
    whitespace.test(this.#text);
    this.#at = whitespace.lastIndex;
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  /** Go's scanner takes the end of a text for a blank, which a token may not contain. Source: encoding/json scanner.eof. */
  #refuseInToken(where: string): never {
    if (this.#at >= this.#text.length) throw new JsonSyntaxError(`invalid character ' ' ${where}`);
    return this.#refuse(where);
  }

  #refuse(where: string): never {
    const char = this.#text[this.#at];
    if (char === undefined) throw new JsonSyntaxError('unexpected end of JSON input');
    const byte = this.#units === 'bytes' ? char.charCodeAt(0) : (new TextEncoder().encode(char)[0] ?? 0);
    throw new JsonSyntaxError(`invalid character ${quoteByte(byte)} ${where}`);
  }
}

/** Returns the index of the quote that closes the string opened at `open`, or the end of the text. */
export function endOfJsonString(text: string, open: number): number {
  let close = text.indexOf('"', open + 1);
  while (close !== -1 && isEscaped(text, close)) close = text.indexOf('"', close + 1);
  return close === -1 ? text.length : close;
}

function isEscaped(text: string, quote: number): boolean {
  let at = quote - 1;
  while (text.charCodeAt(at) === 0x5c) at--;
  return (quote - at) % 2 === 0;
}

function isDigit(char: string): boolean {
  return char >= '0' && char <= '9';
}

/** Quotes one byte as Go's scanner does, which sees only the first UTF-8 byte of a non-ASCII character. */
function quoteByte(byte: number): string {
  const char = String.fromCharCode(byte);
  if (char === "'") return "'\\''";
  if (char === '"') return `'"'`;
  if (byte >= 0x20 && byte < 0x7f) return char === '\\' ? "'\\\\'" : `'${char}'`;
  const named = new Map([
    [0x07, '\\a'],
    [0x08, '\\b'],
    [0x09, '\\t'],
    [0x0a, '\\n'],
    [0x0b, '\\v'],
    [0x0c, '\\f'],
    [0x0d, '\\r'],
  ]).get(byte);
  if (named !== undefined) return `'${named}'`;
  if (byte < 0xa1) return byte < 0x80 ? `'\\x${byte.toString(16).padStart(2, '0')}'` : `'\\u00${byte.toString(16)}'`;
  return `'${String.fromCharCode(byte)}'`;
}
