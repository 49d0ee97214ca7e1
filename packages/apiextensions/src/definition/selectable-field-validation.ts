// Rules for the fields by which lists of a custom resource may select. Source: ValidateCustomResourceSelectableFields.

import type { DeepReadonly } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps, SelectableField } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { splitDottedPath } from '../resource/dotted-path.ts';
import { fieldPathTokens } from '../rules/rule-field-path.ts';
import { hasProperties, propertyOf } from '../rules/rule-schema.ts';

type Schema = DeepReadonly<JSONSchemaProps>;

const maxSelectableFields = 8;

export function validateSelectableFields(
  at: Field,
  fields: DeepReadonly<SelectableField[]> | undefined,
  schema: Schema | undefined,
): void {
  if (fields === undefined || fields.length === 0) return;
  if (schema === undefined) {
    // Kubernetes' text says the opposite of what it means; we keep its mistake.
    return at.invalid('', 'may only be set when `version.schema.openAPIV3Schema` is not included');
  }
  const seen = new Set<string>();
  at.each(fields, ({ jsonPath }, item) => {
    const field = item.child('jsonPath');
    if (!field.present(jsonPath)) return;
    const found = schemaAt(schema, jsonPath);
    if (typeof found === 'string') return field.invalid(jsonPath, `is an invalid path: ${found}`);
    if (splitDottedPath(jsonPath)[0] === 'metadata') field.invalid(jsonPath, 'must not point to fields in metadata');
    if (!['string', 'boolean', 'integer'].includes(found.type ?? '')) {
      field.invalid(
        jsonPath,
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      );
    }
    if (seen.has(jsonPath)) field.duplicate(jsonPath);
    seen.add(jsonPath);
  });
  if (seen.size > maxSelectableFields) at.tooMany(seen.size, maxSelectableFields);
}

/** Returns the schema at the end of a path, or the reason why there is none. Source: cel.ValidFieldPath. */
function schemaAt(root: Schema, path: string): Schema | string {
  const tokens = fieldPathTokens(path);
  let schema = root;
  for (let at = 0; at < tokens.length; at += 2) {
    if (tokens[at] === '[') return 'array notation is not allowed';
    if (tokens[at] !== '.') return `expected [ or . but got: ${tokens[at]}`;
    const name = tokens[at + 1];
    if (name === undefined) return 'unexpected end of JSON path';
    const next: unknown = hasProperties(schema) ? propertyOf(schema, name) : schema.additionalProperties;
    if (!isJsonObject(next)) return 'does not refer to a valid field';
    schema = next as Schema;
  }
  return schema;
}
