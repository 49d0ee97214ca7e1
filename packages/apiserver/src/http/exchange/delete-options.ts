// Reads the options of delete and deletecollection, from the body if there is one, otherwise from the query. Source:
// apiserver handlers/delete.go, apimachinery ValidateDeleteOptions.

import { badRequest, type FieldError, invalid, invalidField } from '@kapstan/api/errors';
import { formatApiVersion, type PropagationPolicy, type SlicedWork } from '@kapstan/api/internal';
import type { DeleteRequest } from '../../registry/definition/resource-store.ts';
import { validateDryRun } from '../../registry/definition/write-options.ts';
import { interpretKind } from '../../schema/decode-object.ts';
import { StrictErrors } from '../../schema/field-validation.ts';
import { metaTypes } from '../../schema/meta-types.ts';
import { DecodeError, decodeTypedInSlices } from '../../schema/typed-decoder.ts';
import { decodeBoolean, decodeInteger } from './query-parameters.ts';

export interface ParsedDeleteOptions {
  readonly request: DeleteRequest;
  readonly dryRun: boolean;
}

export interface DeleteGates {
  /** False: ignoreStoreReadErrorWithClusterBreakingPotential is read as if it were absent. */
  readonly allowsUnsafeDeletion: boolean;
}

/** Kind of the body. The versions of other groups are accepted too, because every group has these options. */
export const deleteOptionsKind = { group: '', version: 'v1', kind: 'DeleteOptions' };

const scheme = 'pkg/runtime/scheme.go:111';

/** Reads the options of a request without a body from its query. Throws 400 and 422. */
export function deleteOptionsFromQuery(query: URLSearchParams, gates: DeleteGates): ParsedDeleteOptions {
  const ignoreErrors = decodeBoolean(query.get('ignoreStoreReadErrorWithClusterBreakingPotential'));
  return check({
    gracePeriodSeconds: decodeInteger(query.get('gracePeriodSeconds')),
    orphanDependents: decodeBoolean(query.get('orphanDependents')),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
    dryRun: query.getAll('dryRun'),
    preconditions: preconditionsFromQuery(query),
    ignoreErrors: gates.allowsUnsafeDeletion && ignoreErrors,
  });
}

/**
 * Reads the options from a decoded body. Throws 400 with Go's texts when it is not an object, is of another kind or has
 * members of the wrong type, and 422 when the options are invalid.
 */
export function* deleteOptionsFromBody(body: unknown, gates: DeleteGates): SlicedWork<ParsedDeleteOptions> {
  const decoded = yield* decodeBody(body);
  return check({
    // Rounding an int64 that a double cannot hold does no harm: any such time is in the far future.
    gracePeriodSeconds: decoded.gracePeriodSeconds === undefined ? undefined : Number(decoded.gracePeriodSeconds),
    orphanDependents: decoded.orphanDependents,
    propagationPolicy: decoded.propagationPolicy,
    dryRun: decoded.dryRun ?? [],
    preconditions: decoded.preconditions,
    ignoreErrors: gates.allowsUnsafeDeletion && decoded.ignoreStoreReadErrorWithClusterBreakingPotential,
  });
}

function* decodeBody(body: unknown): SlicedWork<DeleteOptionsBody> {
  try {
    const { kind, group, version } = interpretKind(body, deleteOptionsKind);
    if (kind !== deleteOptionsKind.kind) {
      const apiVersion = formatApiVersion({ group, version });
      throw new DecodeError(`no kind "${kind}" is registered for version "${apiVersion}" in scheme "${scheme}"`);
    }
    const schema = metaTypes.schema('meta/v1.DeleteOptions');
    const decoding = { schema, strict: new StrictErrors(), words: 'json' } as const;
    return (yield* decodeTypedInSlices(body ?? {}, decoding)) as DeleteOptionsBody;
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message) : error;
  }
}

/** The body after decoding by its schema, which guarantees these types. */
interface DeleteOptionsBody extends Omit<DeleteRequest, 'propagationPolicy'> {
  readonly propagationPolicy?: string;
  readonly dryRun?: readonly string[];
}

/** Source: meta/v1 Convert_url_Values_To_v1_DeleteOptions. */
function preconditionsFromQuery(query: URLSearchParams): RawOptions['preconditions'] {
  const uid = query.get('uid') ?? '';
  const resourceVersion = query.get('resourceVersion') ?? '';
  if (uid === '' && resourceVersion === '') return undefined;
  return { ...(uid === '' ? {} : { uid }), ...(resourceVersion === '' ? {} : { resourceVersion }) };
}

interface RawOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly orphanDependents: boolean | undefined;
  readonly propagationPolicy: string | undefined;
  readonly dryRun: readonly string[];
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly ignoreErrors: boolean | undefined;
}

const policies = ['Foreground', 'Background', 'Orphan'];

function check(raw: RawOptions): ParsedDeleteOptions {
  const errors: FieldError[] = [];
  if (raw.propagationPolicy !== undefined && raw.orphanDependents !== undefined) {
    const detail = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalidField('propagationPolicy', raw.propagationPolicy, detail));
  }
  if (raw.propagationPolicy !== undefined && !policies.includes(raw.propagationPolicy)) {
    errors.push({
      type: 'FieldValueNotSupported',
      field: 'propagationPolicy',
      badValue: raw.propagationPolicy,
      detail: 'supported values: "Foreground", "Background", "Orphan", "nil"',
    });
  }
  errors.push(...validateDryRun(raw.dryRun), ...validateUnsafe(raw));
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
  const request: DeleteRequest = {
    gracePeriodSeconds: raw.gracePeriodSeconds,
    orphanDependents: raw.orphanDependents,
    propagationPolicy: raw.propagationPolicy as PropagationPolicy,
    preconditions: raw.preconditions,
    ...(raw.ignoreErrors === true ? { ignoreStoreReadErrorWithClusterBreakingPotential: true } : {}),
  };
  return { request, dryRun: raw.dryRun.length > 0 };
}

/** Refuses an unsafe deletion that has any other option. Source: validation.validateIgnoreStoreReadError. */
function validateUnsafe(raw: RawOptions): readonly FieldError[] {
  if (raw.ignoreErrors !== true) return [];
  const errors: FieldError[] = [];
  const others = ['gracePeriodSeconds', 'preconditions', 'orphanDependents', 'propagationPolicy'] as const;
  for (const other of others) {
    if (raw[other] === undefined) continue;
    const detail = `cannot be set together with .${other}`;
    errors.push(invalidField('ignoreStoreReadErrorWithClusterBreakingPotential', true, detail));
  }
  return errors;
}
