// Age: the cell that moves on with time. Printers tell the moment that is counted from, so that what they make of an object
// holds for as long as the object does; the text is made when a row goes out. Used by the printers, read by row-cells.ts.
import { parseTime } from '@kapstan/api';
import { humanDuration } from './human-duration.ts';

/** A duration since a moment (milliseconds since 1970), with text around it: "2 (3m ago)". */
export class Age {
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

  /** `nowMs`: wall clock. */
  at(nowMs: number): string {
    return `${this.#before}${humanDuration(nowMs - this.#sinceMs)}${this.#after}`;
  }
}

/** Time since a timestamp; "<unknown>" when there is none. Source: translateTimestampSince. */
export function timeSince(timestamp: string | null | undefined): Age | string {
  if (timestamp === undefined || timestamp === null || timestamp === '') return '<unknown>';
  const then = parseTime(timestamp);
  return Number.isNaN(then) ? '<unknown>' : new Age(then);
}
