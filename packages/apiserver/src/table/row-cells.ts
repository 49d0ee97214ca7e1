// The cells of a row with their ages told: as values, and as JSON of which all but the ages is made once and kept.
// Between a kind's TableConvertor and http/answer/table-response.ts.
import { stringifyJson } from '@kapstan/api';
import { Age } from './age.ts';

/** The cells as they read at `nowMs`, wall clock. */
export function cellsAt(cells: readonly unknown[], nowMs: number): readonly unknown[] {
  return cells.map((cell) => (cell instanceof Age ? cell.at(nowMs) : cell));
}

/** The cells of one object as JSON. Holds text and moments, of most objects some 400 bytes, and nothing of the object. */
export class RowCells {
  /** Of its text, in characters. */
  readonly length: number;
  // Invariant: one text more than ages; they alternate.
  readonly #texts: readonly string[];
  readonly #ages: readonly Age[];

  constructor(cells: readonly unknown[]) {
    const texts: string[] = [];
    const ages: Age[] = [];
    let parts = ['['];
    for (const [index, cell] of cells.entries()) {
      if (index > 0) parts.push(',');
      if (cell instanceof Age) {
        ages.push(cell);
        texts.push(parts.join(''));
        parts = [];
      } else parts.push(stringifyJson(cell ?? null));
    }
    this.#texts = [...texts, [...parts, ']'].join('')];
    this.length = this.#texts.reduce((sum, text) => sum + text.length, 0);
    this.#ages = ages;
  }

  /** `nowMs`: wall clock. */
  at(nowMs: number): string {
    let json = this.#texts[0] as string;
    for (const [index, age] of this.#ages.entries()) json += JSON.stringify(age.at(nowMs)) + this.#texts[index + 1];
    return json;
  }
}
