// application/apply-patch+yaml: the body of one server-side apply, read once and applied as often as the update loop
// asks. Called by http/. Source: apiserver handlers applyPatcher.
import { type DeepReadonly, isJsonObject, newBadRequest, type UnstructuredObject } from '@kapstan/api';
import { readJsonInYaml } from '../schema/decode-object.ts';
import { warningTexts, yamlDuplicatesText } from '../schema/field-validation.ts';
import { jsonKind } from '../schema/go-types.ts';
import { decodeText } from '../schema/json-reader.ts';
import { readYamlOfClient, YamlSyntaxError } from '../schema/yaml-reader.ts';
import type { ApplyCall, FieldManager } from './field-manager.ts';

export const applyMediaType = 'application/apply-patch+yaml';

/** Makes the applied object from the present one, which it does not change; undefined = there is none. */
export type Applier = (present: DeepReadonly<UnstructuredObject> | undefined) => UnstructuredObject;

/**
 * An applier for one request. Its outcome is before defaulting and holds its managedFields: update the store with
 * `managedFields: 'given'`. It throws StatusError: 400 for a body that cannot be read, and what
 * {@link FieldManager.apply} throws. Unknown fields are refused whatever fieldValidation says; repeated keys are not.
 */
export function createApplier(fieldManager: FieldManager, body: Uint8Array, call: ApplyCall): Applier {
  let read: ReadBody | undefined;
  return (present) => {
    read ??= readBody(decodeText(body));
    const object = fieldManager.apply(present, read.applied, call);
    judge(read.duplicates, call);
    return object;
  };
}

interface ReadBody {
  readonly applied: UnstructuredObject;
  readonly duplicates: readonly string[];
}

function readBody(text: string): ReadBody {
  const { value, duplicates } = readDocument(text);
  const applied = value ?? {};
  if (isJsonObject(applied)) return { applied: applied as UnstructuredObject, duplicates };
  const why = `json: cannot unmarshal ${jsonKind(applied)} into Go value of type map[string]interface {}`;
  throw newBadRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
}

function readDocument(text: string): { readonly value: unknown; readonly duplicates: readonly string[] } {
  const json = readJsonInYaml(text);
  if (json !== undefined) return { value: json.value, duplicates: [] };
  try {
    return readYamlOfClient(text);
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw newBadRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`);
  }
}

function judge(duplicates: readonly string[], { context }: ApplyCall): void {
  if (duplicates.length === 0) return;
  const text = `error converting YAML to JSON: ${yamlDuplicatesText(duplicates)}`;
  if (context.fieldValidation === 'Strict') throw newBadRequest(`error strict decoding YAML: ${text}`);
  if (context.fieldValidation === 'Warn') for (const warning of warningTexts(text)) context.warn(warning);
}
