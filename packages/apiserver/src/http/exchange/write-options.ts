// Reads the options of create, update and patch in the query. Source: apimachinery meta/v1 conversion (1.36).
import type { RequestContext, WriteIntent } from '../../registry/definition/request-context.ts';
import {
  isPrintable,
  maxManagerBytes,
  requireValidWriteOptions,
  type WriteKind,
} from '../../registry/definition/write-options.ts';
import { decodeBoolean } from './query-parameters.ts';

export interface WriteOptions {
  readonly dryRun: boolean;
  /** The requested field manager; "" = none. */
  readonly fieldManager: string;
  readonly fieldValidation: RequestContext['fieldValidation'];
  /** Apply only: take over fields from other managers. */
  readonly force: boolean;
  /** The client's intent. Absent = none. */
  readonly intent?: WriteIntent;
}

/** Parses the options. Throws 422 with every error. `patch` selects the rules for patches. */
export function parseWriteOptions(
  query: URLSearchParams,
  kind: WriteKind,
  patch: 'apply' | 'other' = 'other',
): WriteOptions {
  const fieldManager = query.get('fieldManager') ?? '';
  const dryRun = query.getAll('dryRun');
  const fieldValidation = query.get('fieldValidation') ?? '';
  const force = decodeBoolean(query.get('force'));
  requireValidWriteOptions({ fieldManager, fieldValidation, dryRun, force }, kind, patch);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as RequestContext['fieldValidation']),
    force: force === true,
    ...((fieldManager !== '' || fieldValidation !== '') && { intent: { fieldManager, fieldValidation } }),
  };
}

/** Returns the owner of the written fields: the requested manager, or the client's name up to the first slash. */
export function managerOrUserAgent(fieldManager: string, userAgent: string | undefined): string {
  if (fieldManager !== '') return fieldManager;
  const prefix = (userAgent ?? '').split('/')[0] ?? '';
  const name = isPlain(prefix) ? prefix : [...prefix].filter((character) => isPrintable(character)).join('');
  return name === '' ? 'unknown' : cutToBytes(name, maxManagerBytes);
}

/** True for printable ASCII. Nearly all names are, and one pattern is cheaper than a look at each character. */
function isPlain(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

function cutToBytes(text: string, maxBytes: number): string {
  let cut = text;
  while (Buffer.byteLength(cut) > maxBytes) cut = cut.slice(0, -1);
  return cut;
}
