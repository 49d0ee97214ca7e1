// Decodes configuration files, which are YAML or JSON with an apiVersion and a kind. Used for the configuration of
// admission and of its plug-ins. Source: runtime.Decode with a strict codec.
import { isJsonObject } from '@kapstan/api/internal';
import { interpretKind, kindRegistry, readDocument } from './decode-object.ts';
import { StrictErrors, strictDecodingText } from './field-validation.ts';
import type { SchemaNode } from './node/schema-node.ts';
import { DecodeError, decodeTyped } from './typed-decoder.ts';

export interface ConfigurationForm {
  /** The kind by apiVersion. All have the same fields. */
  readonly kinds: ReadonlyMap<string, string>;
  readonly schema: SchemaNode;
  /** True = unknown and repeated fields are ignored. Default false. */
  readonly isLenient?: boolean;
  /** Further kinds of the same versions, which are refused as the wrong kind: errors show "Foo" as "*group.Foo". */
  readonly others?: { readonly expected: string; readonly goPackage: string; readonly kinds: ReadonlySet<string> };
}

/** Returns the decoded file. Throws an Error that describes the fault. */
export function decodeConfiguration(text: string, form: ConfigurationForm): Record<string, unknown> {
  const strict = new StrictErrors();
  // A text that begins with a brace is read as JSON, for which Go has other error texts.
  const mediaType = text.trimStart().startsWith('{') ? 'application/json' : 'application/yaml';
  const { value = {}, repeats } = readDocument(text, { mediaType }, strict);
  const { group, version, kind } = interpretKind(value, { group: '', version: '', kind: '' });
  const root = isJsonObject(value) ? value : {};
  if (kind === '') throw new DecodeError(`Object 'Kind' is missing in '${text}'`);
  if (version === '') throw new DecodeError(`Object 'apiVersion' is missing in '${text}'`);
  const apiVersion = group === '' ? version : `${group}/${version}`;
  if (form.kinds.has(apiVersion) && form.others?.kinds.has(kind) === true) {
    const { expected, goPackage } = form.others;
    throw new DecodeError(`expected ${expected}, got *${goPackage}.${kind}`);
  }
  if (form.kinds.get(apiVersion) !== kind)
    throw new DecodeError(`no kind "${kind}" is registered for version "${apiVersion}" ${kindRegistry}`);
  const decoded = decodeTyped(root, { schema: form.schema, strict, repeats, words: 'json' });
  const complaints = strict.texts();
  if (complaints.length > 0 && form.isLenient !== true) throw new DecodeError(strictDecodingText(complaints));
  return decoded as Record<string, unknown>;
}

export const textSchema: SchemaNode = { type: 'string' };
export const textsSchema: SchemaNode = { type: 'array', items: textSchema };
export const integerSchema: SchemaNode = { type: 'integer', format: 'int32' };

export function listSchema(items: SchemaNode): SchemaNode {
  return { type: 'array', items };
}

/** Returns the schema of a Go struct; errors name its type. */
export function structSchema(goType: string, properties: Readonly<Record<string, SchemaNode>>): SchemaNode {
  return { type: 'object', goType, properties: new Map(Object.entries(properties)) };
}

/** Returns the schema of the struct of a file, which has an apiVersion and a kind. */
export function fileSchema(goType: string, properties: Readonly<Record<string, SchemaNode>>): SchemaNode {
  return structSchema(goType, { apiVersion: textSchema, kind: textSchema, ...properties });
}
