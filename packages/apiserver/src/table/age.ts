// Age: a table cell that changes with time. Printers return the start of the age, so their result stays valid as long
// as the object; the text is made when the row is sent. Used by the printers, read by row-cells.ts.
import { parseTime } from '@kapstan/api';
import { humanDuration } from './human-duration.ts';

// Two copies of this module, as in a bundle and beside it, know each other's ages by it.
const brand = Symbol.for('@kapstan/apiserver/Age');

/** The time since a moment (milliseconds since 1970), with text around it: "2 (3m ago)". */
export class Age {
  static {
    Object.defineProperty(Age.prototype, brand, { value: true });
  }

  readonly #sinceMs: number;
  readonly #before: string;
  readonly #after: string;

  constructor(
    sinceMs: number,
    { before = '', after = '' }: { readonly before?: string; readonly after?: string } = {},
  ) {
    this.#sinceMs = sinceMs;
    this.#before = before;
    this.#after = after;
  }

  /** Returns the text. `nowMs`: wall clock in milliseconds. */
  at(nowMs: number): string {
    return `${this.#before}${humanDuration(nowMs - this.#sinceMs)}${this.#after}`;
  }
}

export function isAge(cell: unknown): cell is Age {
  return typeof cell === 'object' && cell !== null && brand in cell;
}

/** Returns the age of a timestamp; "<unknown>" when there is none. Source: translateTimestampSince. */
export function timeSince(timestamp: string | null | undefined): Age | string {
  if (timestamp === undefined || timestamp === null || timestamp === '') return '<unknown>';
  const then = parseTime(timestamp);
  return Number.isNaN(then) ? '<unknown>' : new Age(then);
}
