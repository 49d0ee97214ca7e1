// The options of create, update and patch in the query. Source: apimachinery meta/v1 validation (1.36).
import { type FieldError, forbiddenField, invalidField, newInvalid, requiredField, tooLongField } from '@kapstan/api';
import type { RequestContext } from '../registry/request-context.ts';
import { decodeBoolean } from './query-parameters.ts';

const maxManagerBytes = 128;

export interface WriteOptions {
  readonly dryRun: boolean;
  /** As asked; "" = none said. */
  readonly fieldManager: string;
  readonly fieldValidation: RequestContext['fieldValidation'];
  /** Apply only: take fields over from other managers. */
  readonly force: boolean;
}

export type WriteKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions';

/** Throws 422 with every error. `patch` tells which rules of a patch hold. */
export function parseWriteOptions(
  query: URLSearchParams,
  kind: WriteKind,
  patch: 'apply' | 'other' = 'other',
): WriteOptions {
  const fieldManager = query.get('fieldManager') ?? '';
  const dryRun = query.getAll('dryRun');
  const fieldValidation = query.get('fieldValidation') ?? '';
  const force = decodeBoolean(query.get('force'));
  const errors: FieldError[] = [];
  if (kind === 'PatchOptions' && patch === 'other' && force !== undefined) {
    errors.push(forbiddenField('force', 'may not be specified for non-apply patch'));
  }
  if (patch === 'apply' && fieldManager === '') {
    errors.push(requiredField('fieldManager', 'is required for apply patch'));
  }
  errors.push(...validateManager(fieldManager), ...validateDryRun(dryRun), ...validateValidation(fieldValidation));
  if (errors.length > 0) throw newInvalid({ group: 'meta.k8s.io', kind }, '', errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as RequestContext['fieldValidation']),
    force: force === true,
  };
}

/** Only "All" is known. Also used for the options of a delete. */
export function validateDryRun(values: readonly string[]): readonly FieldError[] {
  if (values.every((value) => value === 'All')) return [];
  return [{ type: 'FieldValueNotSupported', field: 'dryRun', badValue: values, detail: 'supported values: "All"' }];
}

/** Who owns what is written: the manager asked for, or the client's name up to the first slash. */
export function managerOrUserAgent(fieldManager: string, userAgent: string | undefined): string {
  if (fieldManager !== '') return fieldManager;
  const prefix = (userAgent ?? '').split('/')[0] ?? '';
  const name = [...prefix].filter((character) => isPrintable(character)).join('');
  return name === '' ? 'unknown' : cutToBytes(name, maxManagerBytes);
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

/** Go's unicode.IsPrint: letters, marks, numbers, punctuation, symbols and the ASCII space. */
function isPrintable(character: string): boolean {
  return character === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);
}

/** Go's %#U: U+000A, and the character itself where it can be shown. */
function describe(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return isPrintable(character) ? `U+${code} '${character}'` : `U+${code}`;
}

function cutToBytes(text: string, maxBytes: number): string {
  let cut = text;
  while (Buffer.byteLength(cut) > maxBytes) cut = cut.slice(0, -1);
  return cut;
}
