// Validates the options of create, update and patch, which http/ reads from the query and callers in process pass.
// Source: apimachinery meta/v1 validation (1.36).
import {
  type FieldError,
  forbiddenField,
  invalid,
  invalidField,
  requiredField,
  tooLongField,
} from '@kapstan/api/errors';

/** Longest name of a field manager, in bytes. */
export const maxManagerBytes = 128;

export type WriteKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions';

/** The options as given; absent texts are "". */
export interface WriteOptionTexts {
  readonly fieldManager: string;
  readonly fieldValidation: string;
  readonly dryRun: readonly string[];
  /** Undefined = not given. */
  readonly force: boolean | undefined;
}

/** Throws 422 with every error. `patch` selects the rules for patches. */
export function requireValidWriteOptions(
  { fieldManager, fieldValidation, dryRun, force }: WriteOptionTexts,
  kind: WriteKind,
  patch: 'apply' | 'other',
): void {
  const errors: FieldError[] = [];
  if (kind === 'PatchOptions' && patch === 'other' && force !== undefined) {
    errors.push(forbiddenField('force', 'may not be specified for non-apply patch'));
  }
  if (patch === 'apply' && fieldManager === '') {
    errors.push(requiredField('fieldManager', 'is required for apply patch'));
  }
  errors.push(...validateManager(fieldManager), ...validateDryRun(dryRun), ...validateValidation(fieldValidation));
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', errors);
}

/** Maximum number of values that an error shows. */
const maxShownValues = 100;

/** Returns errors unless each value is "All". Also used for the options of a delete. */
export function validateDryRun(values: readonly string[]): readonly FieldError[] {
  if (values.every((value) => value === 'All')) return [];
  const badValue = values.slice(0, maxShownValues);
  return [{ type: 'FieldValueNotSupported', field: 'dryRun', badValue, detail: 'supported values: "All"' }];
}

function validateManager(manager: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (Buffer.byteLength(manager) > maxManagerBytes) errors.push(tooLongField('fieldManager', maxManagerBytes));
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character)) {
      const detail = `invalid character ${describe(character)} (at position ${position})`;
      errors.push(invalidField('fieldManager', manager, detail));
    }
    position += Buffer.byteLength(character);
  }
  return errors;
}

function validateValidation(value: string): readonly FieldError[] {
  if (['', 'Ignore', 'Warn', 'Strict'].includes(value)) return [];
  const detail = 'supported values: "", "Ignore", "Strict", "Warn"';
  return [{ type: 'FieldValueNotSupported', field: 'fieldValidation', badValue: value, detail }];
}

/**
 * True for characters that Go's unicode.IsPrint accepts: letters, marks, numbers, punctuation, symbols and the ASCII
 * space.
 */
export function isPrintable(character: string): boolean {
  return character === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);
}

/** Formats like Go's %#U: U+000A, with the character itself if it is printable. */
function describe(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return isPrintable(character) ? `U+${code} '${character}'` : `U+${code}`;
}
