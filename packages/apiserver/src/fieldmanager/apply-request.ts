// Handles application/apply-patch+yaml. The body of a server-side apply is read once and applied as often as the update
// loop requires. Called by http/. Source: apiserver handlers applyPatcher.

import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import { isJsonObject, type SlicedWork } from '@kapstan/api/internal';
import { warningTexts, yamlDuplicatesText } from '../schema/field-validation.ts';
import { jsonKind } from '../schema/go/go-types.ts';
import { decodeText } from '../schema/json-reader.ts';
import { readYamlBody, type YamlBody, type YamlReading } from '../schema/yaml-body.ts';
import { YamlSyntaxError } from '../schema/yaml-reader.ts';
import type { ApplyCall, FieldManager } from './field-manager.ts';

export const applyMediaType = 'application/apply-patch+yaml';

/** Makes the applied object from the present one without changing the latter; undefined = there is no present one. */
export type Applier = (present: DeepReadonly<UnstructuredObject> | undefined) => SlicedWork<UnstructuredObject>;

/**
 * Returns an applier for one request. Its result has no defaults yet and includes its managedFields, so update the
 * store with `managedFields: 'given'`. It throws StatusError: 400 for a body that cannot be read, and the errors of
 * {@link FieldManager.apply}. Unknown fields are refused whatever fieldValidation is; repeated keys are not.
 */
export function createApplier(fieldManager: FieldManager, body: Uint8Array, call: ApplierCall): Applier {
  let read: ReadBody | undefined;
  return function* (present) {
    read ??= readBody(call.readYaml ?? (() => readYamlBody(decodeText(body))));
    const object = yield* fieldManager.apply(present, read.applied, call);
    judge(read.duplicates, call);
    return object;
  };
}

export interface ApplierCall extends ApplyCall {
  /** Absent = the body is parsed when the applier is called. */
  readonly readYaml?: YamlReading | undefined;
}

interface ReadBody {
  readonly applied: UnstructuredObject;
  readonly duplicates: readonly string[];
}

function readBody(readYaml: YamlReading): ReadBody {
  const { document, duplicates } = readDocument(readYaml);
  const applied = document.value ?? {};
  if (isJsonObject(applied)) return { applied: applied as UnstructuredObject, duplicates };
  const why = `json: cannot unmarshal ${jsonKind(applied)} into Go value of type map[string]interface {}`;
  throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
}

function readDocument(readYaml: YamlReading): YamlBody {
  try {
    return readYaml();
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`);
  }
}

function judge(duplicates: readonly string[], { context }: ApplyCall): void {
  if (duplicates.length === 0) return;
  const text = `error converting YAML to JSON: ${yamlDuplicatesText(duplicates)}`;
  if (context.fieldValidation === 'Strict') throw badRequest(`error strict decoding YAML: ${text}`);
  if (context.fieldValidation === 'Warn') for (const warning of warningTexts(text)) context.warn(warning);
}
