// The options of delete and deletecollection, from the body or else from the query.
// Source: apiserver handlers/delete.go, apimachinery ValidateDeleteOptions.
import {
  type FieldError,
  getOwn,
  invalidField,
  isJsonObject,
  newBadRequest,
  newInvalid,
  type PropagationPolicy,
} from '@kapstan/api';
import type { DeleteRequest } from '../registry/resource-store.ts';
import { validateDryRun } from '../registry/write-options.ts';
import { decodeBoolean, decodeInteger } from './query-parameters.ts';

export interface ParsedDeleteOptions {
  readonly request: DeleteRequest;
  readonly dryRun: boolean;
}

const scheme = 'pkg/runtime/scheme.go:111';

/** From the query of a request without a body. Throws 400 and 422. */
export function deleteOptionsFromQuery(query: URLSearchParams): ParsedDeleteOptions {
  const ignoreErrors = decodeBoolean(query.get('ignoreStoreReadErrorWithClusterBreakingPotential'));
  return check({
    gracePeriodSeconds: decodeInteger(query.get('gracePeriodSeconds')),
    orphanDependents: decodeBoolean(query.get('orphanDependents')),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
    dryRun: query.getAll('dryRun'),
    preconditions: undefined,
    ignoreErrors,
  });
}

/** From a decoded body. Throws 400 for another kind and for members of a wrong type, 422. */
export function deleteOptionsFromBody(body: unknown): ParsedDeleteOptions {
  if (!isJsonObject(body)) throw newBadRequest(`${typeOf(body)} cannot be read as DeleteOptions`);
  const kind = readText(body, 'kind') ?? 'DeleteOptions';
  const apiVersion = readText(body, 'apiVersion') ?? 'v1';
  if (kind !== 'DeleteOptions') {
    throw newBadRequest(`no kind "${kind}" is registered for version "${apiVersion}" in scheme "${scheme}"`);
  }
  return check({
    gracePeriodSeconds: readMember(body, 'gracePeriodSeconds', isInteger),
    orphanDependents: readMember(body, 'orphanDependents', isBoolean),
    propagationPolicy: readText(body, 'propagationPolicy'),
    dryRun: readMember(body, 'dryRun', isTexts) ?? [],
    preconditions: readPreconditions(body),
    ignoreErrors: readMember(body, 'ignoreStoreReadErrorWithClusterBreakingPotential', isBoolean),
  });
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
  if (errors.length > 0) throw newInvalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
  const request: DeleteRequest = {
    ...(raw.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: raw.gracePeriodSeconds }),
    ...(raw.orphanDependents === undefined ? {} : { orphanDependents: raw.orphanDependents }),
    ...(raw.propagationPolicy === undefined ? {} : { propagationPolicy: raw.propagationPolicy as PropagationPolicy }),
    ...(raw.preconditions === undefined ? {} : { preconditions: raw.preconditions }),
    ...(raw.ignoreErrors === true ? { ignoreStoreReadErrorWithClusterBreakingPotential: true } : {}),
  };
  return { request, dryRun: raw.dryRun.length > 0 };
}

/** An unsafe deletion takes no other option. Source: validation.validateIgnoreStoreReadError. */
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

function readPreconditions(body: Record<string, unknown>): RawOptions['preconditions'] {
  const value = readMember(body, 'preconditions', isJsonObject);
  if (value === undefined) return undefined;
  const uid = readText(value, 'uid');
  const resourceVersion = readText(value, 'resourceVersion');
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}

const isInteger = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value);
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);

function readText(from: Record<string, unknown>, name: string): string | undefined {
  return readMember(from, name, isText);
}

function readMember<V>(from: Record<string, unknown>, name: string, is: (value: unknown) => value is V): V | undefined {
  const value = getOwn(from, name);
  if (value === undefined || value === null) return undefined;
  if (is(value)) return value;
  throw newBadRequest(`json: cannot unmarshal ${typeOf(value)} into Go struct field DeleteOptions.${name}`);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
