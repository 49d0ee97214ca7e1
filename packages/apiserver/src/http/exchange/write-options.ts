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
  const text = userAgent ?? '';
  const slash = text.indexOf('/');
  const prefix = slash === -1 ? text : text.slice(0, slash);
  const name = isShortAndPlain(prefix) ? prefix : printableStart(prefix);
  return name === '' ? 'unknown' : name;
}

/** True for printable ASCII. Nearly all names are, and one pattern is cheaper than a look at each character. */
function isShortAndPlain(text: string): boolean {
  return text.length <= maxManagerBytes && /^[ -~]*$/.test(text);
}

/** Returns as many printable characters as a manager's name may have bytes. */
function printableStart(text: string): string {
  let start = '';
  let bytes = 0;
  for (const character of text) {
    if (!isPrintable(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > maxManagerBytes) break;
    start += character;
  }
  return start;
}
