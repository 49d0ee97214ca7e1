// ErrorCollector collects the errors of a value, which may be as many as a request has bytes. Used by
// value-validation.ts.

import type { FieldError } from '@kapstan/api/errors';
import { maxToldErrors, omittedErrors } from '@kapstan/api/internal';

/**
 * Keeps as many errors as an answer shows and counts the others. Duplicates are counted separately, because an update
 * may be allowed to keep them.
 */
export class ErrorCollector {
  readonly #kept: FieldError[] = [];
  #duplicates = 0;
  #others = 0;

  add(error: FieldError): void {
    if (error.omitted === undefined && this.#kept.length < maxToldErrors) this.#kept.push(error);
    else if (error.type === 'FieldValueDuplicate') this.#duplicates += error.omitted ?? 1;
    else this.#others += error.omitted ?? 1;
  }

  addAll(errors: readonly FieldError[]): void {
    for (const error of errors) this.add(error);
  }

  toList(): readonly FieldError[] {
    if (this.#duplicates > 0) this.#kept.push({ ...omittedErrors(this.#duplicates), type: 'FieldValueDuplicate' });
    if (this.#others > 0) this.#kept.push(omittedErrors(this.#others));
    return this.#kept;
  }
}

/** Returns the errors of two lists together, with the same limit as for one. */
export function joinedErrors(first: readonly FieldError[], second: readonly FieldError[]): readonly FieldError[] {
  if (first.length === 0) return second;
  if (second.length === 0) return first;
  const all = new ErrorCollector();
  all.addAll(first);
  all.addAll(second);
  return all.toList();
}

/** Leaves out errors that were already reported, as several branches of a schema may do. Source: validate.Result.AddErrors. */
export function distinctErrors(errors: readonly FieldError[]): readonly FieldError[] {
  if (errors.length < 2) return errors;
  const seen = new Set<string>();
  return errors.filter(({ omitted, type, field, detail }) => {
    const text = JSON.stringify([type, field, detail]);
    if (omitted !== undefined || !seen.has(text)) return Boolean(seen.add(text));
    return false;
  });
}
