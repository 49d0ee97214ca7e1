// Tells whether a text is one mail address as Go's net/mail reads it: a plain address, one with a name, or a group of
// one. Used by string-formats.ts. Source: mail.ParseAddress.
import { isIP } from 'node:net';

// Matches one or more characters of an atom, dots included.
const atomText = /[!#-'*+\--9=?A-Z^-~\u0080-\uffff]+/y;
const spaces = /[ \t]*/y;
const domainLiteral = /\[([!-Z^-~\u0080-\uffff]*)\]/y;
// Matches an encoded word of RFC 2047: character set, encoding, text.
const encodedWord = /^=\?([^?]+)\?([bBqQ])\?([^?]*)\?=$/;
const characterSet = /^(?:utf-8|iso-8859-1|us-ascii)$/iu;
const wrongInQuotedPrintable = /[^\t\n\r -~]|=(?![0-9a-fA-F]{2})/;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function isMailAddress(text: string): boolean {
  return new MailAddressReader(text).isOneAddress();
}

type WordForm = 'plain' | 'encoded' | 'empty' | 'unknown character set';

function formOf(word: string): WordForm {
  const match = encodedWord.exec(word);
  if (match === null) return 'plain';
  const [, name = '', encoding = '', text = ''] = match;
  const isQuoted = encoding.toLowerCase() === 'q';
  const content = isQuoted ? text : text.replace(/[\r\n]/g, '');
  if (isQuoted ? wrongInQuotedPrintable.test(content) : !base64.test(content)) return 'plain';
  if (!characterSet.test(name)) return 'unknown character set';
  return content === '' ? 'empty' : 'encoded';
}

function isVisibleOrSpace(code: number): boolean {
  return (code >= 0x20 && code !== 0x7f) || code === 0x09;
}

/** Methods return false or undefined for a text that is no address. */
class MailAddressReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  isOneAddress(): boolean {
    return this.#addresses(true) === 1 && this.#skipComments() && this.#isAtEnd();
  }

  #isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  #isAt(char: string): boolean {
    return this.#text.startsWith(char, this.#at);
  }

  #take(char: string): boolean {
    if (!this.#isAt(char)) return false;
    this.#at += 1;
    return true;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match !== null) this.#at = pattern.lastIndex;
    return match;
  }

  /** Returns the number of addresses, which is not one for some groups. */
  #addresses(mayBeGroup: boolean): number | undefined {
    this.#match(spaces);
    if (this.#plainAddress()) {
      this.#match(spaces);
      return !this.#isAt('(') || this.#nameComment() ? 1 : undefined;
    }
    if (!this.#isAt('<') && !this.#phrase()) return undefined;
    this.#match(spaces);
    if (mayBeGroup && this.#take(':')) return this.#group();
    return this.#take('<') && this.#plainAddress() && this.#take('>') ? 1 : undefined;
  }

  #group(): number | undefined {
    let count = 0;
    this.#match(spaces);
    if (this.#take(';')) return this.#skipComments() ? count : undefined;
    for (;;) {
      const more = this.#addresses(false);
      if (more === undefined || !this.#skipComments()) return undefined;
      count += more;
      if (this.#take(';')) return this.#skipComments() ? count : undefined;
      if (!this.#take(',')) return undefined;
    }
  }

  /** Reads local@domain; goes back if there is none. */
  #plainAddress(): boolean {
    const start = this.#at;
    this.#match(spaces);
    const hasName = this.#isAt('"') ? (this.#quoted() ?? 0) > 0 : this.#strictAtom();
    if (hasName && this.#take('@') && this.#domain()) return true;
    this.#at = start;
    return false;
  }

  #domain(): boolean {
    this.#match(spaces);
    if (!this.#isAt('[')) return this.#strictAtom();
    const address = this.#match(domainLiteral)?.[1] ?? '';
    return isIP(address) !== 0 && !address.includes('%');
  }

  #strictAtom(): boolean {
    const [atom] = this.#match(atomText) ?? [];
    return atom !== undefined && !atom.startsWith('.') && !atom.endsWith('.') && !atom.includes('..');
  }

  /** Reads a quoted text; returns the number of characters in it. */
  #quoted(): number | undefined {
    let length = 0;
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const char = this.#text.charAt(at);
      if (char === '"') {
        this.#at = at + 1;
        return length;
      }
      if (char === '\\') at += 1;
      if (!isVisibleOrSpace(this.#text.charCodeAt(at))) return undefined;
      length += 1;
    }
    return undefined;
  }

  /** Reads the words of a name. A fault ends the name; it counts only if no word came before it. */
  #phrase(): boolean {
    let hasWords = false;
    let isDecoding = false;
    for (;;) {
      if (hasWords && !this.#skipComments()) return false;
      this.#match(spaces);
      if (this.#isAtEnd()) return true;
      const form = this.#word();
      if (form === undefined || form === 'unknown character set') return hasWords || isDecoding;
      if (form === 'plain') hasWords = true;
      // Encoded words in a row become one word, which is not ended yet: comments are read only after that.
      if (form !== 'empty') isDecoding = form === 'encoded';
    }
  }

  #word(): WordForm | undefined {
    if (this.#isAt('"')) return this.#quoted() === undefined ? undefined : 'plain';
    const [atom] = this.#match(atomText) ?? [];
    return atom === undefined ? undefined : formOf(atom);
  }

  #skipComments(): boolean {
    this.#match(spaces);
    while (this.#isAt('(')) {
      if (this.#comment() === undefined) return false;
      this.#match(spaces);
    }
    return true;
  }

  /** Reads the comment after an address. It counts as the address's name. */
  #nameComment(): boolean {
    const comment = this.#comment();
    if (comment === undefined) return false;
    const words = comment.replace(/\\([\s\S])/g, '$1').split(/[ \t]+/);
    return words.every((word) => formOf(word) !== 'unknown character set');
  }

  #comment(): string | undefined {
    const start = this.#at + 1;
    let depth = 1;
    for (let at = start; at < this.#text.length; at++) {
      const char = this.#text.charAt(at);
      if (char === '\\') at += 1;
      else if (char === '(') depth += 1;
      else if (char === ')') depth -= 1;
      if (depth > 0) continue;
      this.#at = at + 1;
      return this.#text.slice(start, at);
    }
    return undefined;
  }
}
