// Formats users' values for error texts as Go's fmt does, but cut short: a value can be as large as the request, and an
// answer may name it several times. Used by fieldmanager/ and patch/.
import { ExactNumber } from '@kapstan/api';
import { formatGoValue } from './go-types.ts';

/** Largest map whose members are sorted. The text of a larger one is cut off before the order matters. */
const maxSorted = 10_000;

interface GoStyle {
  readonly list: readonly [open: string, separator: string, close: string];
  readonly map: readonly [open: string, separator: string, close: string];
  scalar(value: unknown): string;
}

const plain: GoStyle = { list: ['[', ' ', ']'], map: ['map[', ' ', ']'], scalar: formatGoValue };

const syntax: GoStyle = {
  list: ['[]interface {}{', ', ', '}'],
  map: ['map[string]interface {}{', ', ', '}'],
  scalar: (value) => {
    if (value === null || value === undefined) return 'interface {}(nil)';
    return typeof value === 'string' ? JSON.stringify(value) : formatGoValue(value);
  },
};

/** Formats like {@link formatGoValue} (fmt's %v), at most `most` characters. */
export function shortGoValue(value: unknown, most: number): string {
  return new ShortText(most, plain).of(value);
}

/** Formats like fmt's %#v, at most `most` characters. */
export function shortGoSyntax(value: unknown, most: number): string {
  return new ShortText(most, syntax).of(value);
}

/** Returns the text, or its beginning with the number of characters left out. */
export function cutShort(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}... (${text.length - most} more characters)`;
}

class ShortText {
  readonly #style: GoStyle;
  readonly #pieces: string[] = [];
  /** Characters that may still be added. */
  #left: number;

  constructor(most: number, style: GoStyle) {
    this.#left = most;
    this.#style = style;
  }

  of(value: unknown): string {
    this.#write(value);
    const text = this.#pieces.join('');
    return this.#left < 0 ? `${text.slice(0, text.length + this.#left)}... (cut short)` : text;
  }

  #add(piece: string): void {
    this.#left -= piece.length;
    this.#pieces.push(piece);
  }

  #write(value: unknown): void {
    if (this.#left < 0) return;
    const { list, map, scalar } = this.#style;
    if (Array.isArray(value)) this.#writeAll(value, list, (item) => this.#write(item));
    else if (typeof value !== 'object' || value === null || value instanceof ExactNumber) this.#add(scalar(value));
    else this.#writeAll(namesOf(value), map, (name) => this.#writeMember(name, value));
  }

  #writeMember(name: string, map: object): void {
    this.#add(`${this.#style === plain ? name : JSON.stringify(name)}:`);
    this.#write((map as Record<string, unknown>)[name]);
  }

  #writeAll<T>(items: readonly T[], [open, separator, close]: GoStyle['list'], write: (item: T) => void): void {
    this.#add(open);
    for (const [index, item] of items.entries()) {
      if (this.#left < 0) return;
      if (index > 0) this.#add(separator);
      write(item);
    }
    this.#add(close);
  }
}

function namesOf(map: object): string[] {
  const names = Object.keys(map);
  return names.length <= maxSorted ? names.sort() : names;
}
