// The cells of a row with their ages as text: as values, and as JSON. The JSON of everything but the ages is made once
// and kept. Made from a kind's TableConvertor, used by http/answer/table-response.ts.
import { stringifyJson } from '@kapstan/api';
import { type Age, isAge } from './age.ts';

/** Returns the cells as they read at `nowMs`, wall clock in milliseconds. */
export function cellsAt(cells: readonly unknown[], nowMs: number): readonly unknown[] {
  return cells.map((cell) => (isAge(cell) ? cell.at(nowMs) : cell));
}

/**
 * The cells of one object as JSON. It holds only texts and times, about 400 bytes for most objects, and not the object
 * itself.
 */
export class RowCells {
  /** Length of its text in characters. */
  readonly length: number;
  // Invariant: texts and ages alternate, so there is one text more than ages.
  readonly #texts: readonly string[];
  readonly #ages: readonly Age[];

  constructor(cells: readonly unknown[]) {
    const texts: string[] = [];
    const ages: Age[] = [];
    let parts = ['['];
    for (const [index, cell] of cells.entries()) {
      if (index > 0) parts.push(',');
      if (isAge(cell)) {
        ages.push(cell);
        texts.push(parts.join(''));
        parts = [];
      } else parts.push(stringifyJson(cell ?? null));
    }
    this.#texts = [...texts, [...parts, ']'].join('')];
    this.length = this.#texts.reduce((sum, text) => sum + text.length, 0);
    this.#ages = ages;
  }

  /** Returns the JSON. `nowMs`: wall clock in milliseconds. */
  at(nowMs: number): string {
    let json = this.#texts[0] as string;
    for (const [index, age] of this.#ages.entries()) json += JSON.stringify(age.at(nowMs)) + this.#texts[index + 1];
    return json;
  }
}
