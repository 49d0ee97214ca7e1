// Source: the text of an expression with its lines. Columns count code points, as readers of messages do.

import { codePointCount } from '../values/code-points.ts';

/** A place in an expression's text. */
export interface Location {
  /** Line, counted from 1; -1 for an error without a place. */
  readonly line: number;
  /** Column in code points, counted from 0; -1 for an error without a place. */
  readonly column: number;
}

export const noLocation: Location = { line: -1, column: -1 };

/** Longer lines (in bytes) are left out of messages. */
const maxSnippetBytes = 16_384;

const encoder = new TextEncoder();

export class Source {
  readonly text: string;
  #lineStarts: readonly number[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Returns line and column of a place in the text, which is given in UTF-16 units. */
  locate(offset: number): Location {
    if (this.text === '') return { line: 1, column: -1 };
    const starts = this.#starts();
    let line = 0;
    while (line + 1 < starts.length && (starts[line + 1] as number) <= offset) line++;
    return { line: line + 1, column: codePointCount(this.text.slice(starts[line], offset)) };
  }

  /** Formats one message with its place, the source line and a marker below it. */
  format(location: Location, message: string): string {
    const head = `ERROR: <input>:${location.line}:${location.column + 1}: ${message}`;
    const line = this.#line(location.line);
    if (line === undefined || encoder.encode(line).length > maxSnippetBytes) return head;
    const shown = line.replaceAll('\t', ' ');
    const points = Array.from(shown);
    const marker = points
      .slice(0, Math.max(0, location.column))
      .map((point) => (isWide(point) ? '．' : '.'))
      .join('');
    const under = points[location.column];
    return `${head}\n | ${shown}\n | ${marker}${under !== undefined && isWide(under) ? '＾' : '^'}`;
  }

  #line(line: number): string | undefined {
    const starts = this.#starts();
    const start = starts[line - 1];
    if (this.text === '' || start === undefined) return undefined;
    const next = starts[line];
    return next === undefined ? this.text.slice(start) : this.text.slice(start, next - 1);
  }

  #starts(): readonly number[] {
    if (this.#lineStarts !== undefined) return this.#lineStarts;
    const starts = [0];
    for (let at = this.text.indexOf('\n'); at >= 0; at = this.text.indexOf('\n', at + 1)) starts.push(at + 1);
    this.#lineStarts = starts;
    return starts;
  }
}

/** True when UTF-8 needs several bytes for the character; the marker line then keeps its width. */
function isWide(point: string): boolean {
  return (point.codePointAt(0) ?? 0) >= 0x80;
}
