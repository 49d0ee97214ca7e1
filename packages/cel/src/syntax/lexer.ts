// Lexer splits the text of an expression into tokens, always the longest possible. Text that is not a token is reported
// and skipped up to and including the character that ended the attempt, as in the grammar's own lexer.
import type { Issues } from './issues.ts';
import type { Token, TokenKind } from './token.ts';

const keywords: ReadonlyMap<string, TokenKind> = new Map([
  ['in', 'in'],
  ['true', 'true'],
  ['false', 'false'],
  ['null', 'null'],
]);

const marks: ReadonlySet<string> = new Set('[]{}().,-!?:+*/%<>');
const longMarks: ReadonlySet<string> = new Set(['==', '!=', '<=', '>=', '&&', '||']);

const blank = /[\t \r\n\f]+|\/\/[^\n]*/y;
const word = /[A-Za-z_][A-Za-z0-9_]*/y;
const escapedWord = /`[A-Za-z0-9_.\-/ ]+`/y;
const float = /\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?/y;
const integer = /0x[0-9a-fA-F]+|\d+/y;
const stringStart = /([bB]?)([rR]?)("""|'''|"|')/y;
const escapeForm = /\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/y;

/** The accepted beginnings of escapes, for the text of the error. */
const escapePrefixes = [/\\[0-3][0-7]?/y, /\\[xX][0-9a-fA-F]?/y, /\\u[0-9a-fA-F]{0,3}/y, /\\U[0-9a-fA-F]{0,7}/y, /\\/y];

/** Returns the tokens of the text; the last one has the kind `end`. */
export function tokenize(text: string, issues: Issues): Token[] {
  return new Lexer(text, issues).run();
}

class Lexer {
  readonly #text: string;
  readonly #issues: Issues;
  readonly #tokens: Token[] = [];
  #at = 0;

  constructor(text: string, issues: Issues) {
    this.#text = text;
    this.#issues = issues;
  }

  run(): Token[] {
    while (this.#at < this.#text.length) this.#next();
    this.#push('end', 0);
    return this.#tokens;
  }

  #next(): void {
    const skipped = this.#lengthOf(blank);
    if (skipped > 0) {
      this.#at += skipped;
      return;
    }
    if (!this.#string() && !this.#number() && !this.#word() && !this.#mark())
      this.#refuse(this.#at + this.#badLength());
  }

  #number(): boolean {
    const floatLength = this.#lengthOf(float);
    const intLength = this.#lengthOf(integer);
    if (floatLength > intLength) return this.#push('double', floatLength);
    if (intLength === 0) return false;
    const isUint = /^[uU]/.test(this.#text.charAt(this.#at + intLength));
    return isUint ? this.#push('uint', intLength + 1) : this.#push('int', intLength);
  }

  #word(): boolean {
    const length = this.#lengthOf(word);
    if (length > 0) {
      const kind = keywords.get(this.#text.slice(this.#at, this.#at + length)) ?? 'identifier';
      return this.#push(kind, length);
    }
    const escaped = this.#lengthOf(escapedWord);
    return escaped > 0 && this.#push('escapedIdentifier', escaped);
  }

  #mark(): boolean {
    const two = this.#text.slice(this.#at, this.#at + 2);
    if (longMarks.has(two)) return this.#push(two as TokenKind, 2);
    const one = two.charAt(0);
    return marks.has(one) && this.#push(one as TokenKind, 1);
  }

  /**
   * Reads a string or bytes literal. An unterminated one may still begin with a shorter literal (`""`) or a word (`b`).
   */
  #string(): boolean {
    stringStart.lastIndex = this.#at;
    const start = stringStart.exec(this.#text);
    if (start === null) return false;
    const [whole, bytesMark = '', rawMark = '', quotes = ''] = start;
    const kind = bytesMark === '' ? 'string' : 'bytes';
    const isRaw = rawMark !== '';
    const end = this.#stringEnd(this.#at + whole.length, quotes, isRaw);
    if (end.isWhole) return this.#push(kind, end.at - this.#at);
    if (quotes.length === 3) return this.#push(kind, whole.length - 1);
    if (bytesMark !== '' || isRaw) return false;
    this.#refuse(end.at);
    return true;
  }

  #stringEnd(from: number, quotes: string, isRaw: boolean): { readonly isWhole: boolean; readonly at: number } {
    const text = this.#text;
    const isShort = quotes.length === 1;
    for (let at = from; at < text.length; ) {
      const char = text.charAt(at);
      if (text.startsWith(quotes, at)) return { isWhole: true, at: at + quotes.length };
      if (isShort && (char === '\n' || char === '\r')) return { isWhole: false, at };
      if (char !== '\\' || isRaw) {
        at++;
        continue;
      }
      const length = lengthAt(escapeForm, text, at);
      if (length === 0)
        return { isWhole: false, at: at + Math.max(...escapePrefixes.map((p) => lengthAt(p, text, at))) };
      at += length;
    }
    return { isWhole: false, at: text.length };
  }

  /** Returns the number of characters read before the one that fits no token. */
  #badLength(): number {
    const char = this.#text.charAt(this.#at);
    if (char === '`') return lengthAt(/`[A-Za-z0-9_.\-/ ]*/y, this.#text, this.#at);
    return char === '=' || char === '&' || char === '|' ? 1 : 0;
  }

  #refuse(end: number): void {
    const last = String.fromCodePoint(this.#text.codePointAt(end) ?? 0);
    const stop = end >= this.#text.length ? this.#text.length : end + last.length;
    const shown = this.#text.slice(this.#at, stop);
    this.#issues.add(this.#at, `Syntax error: token recognition error at: '${shown}'`);
    this.#at = stop;
  }

  #lengthOf(pattern: RegExp): number {
    return lengthAt(pattern, this.#text, this.#at);
  }

  #push(kind: TokenKind, length: number): boolean {
    this.#tokens.push({ kind, text: this.#text.slice(this.#at, this.#at + length), offset: this.#at });
    this.#at += length;
    return true;
  }
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}
