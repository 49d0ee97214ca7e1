// Rules for the fields by which lists of a custom resource may select. Source: ValidateCustomResourceSelectableFields.

import type { DeepReadonly } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps, SelectableField } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { splitDottedPath } from '../resource/dotted-path.ts';

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
  if (path.startsWith('[') || path.includes('[', 1)) return 'array notation is not allowed';
  if (!path.startsWith('.')) return `expected [ or . but got: ${/^[^.[]*/.exec(path)?.[0]}`;
  if (path === '.') return 'unexpected end of JSON path';
  let schema = root;
  for (const name of splitDottedPath(path)) {
    if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(name))
      return `path with escaped characters or subscripts is not supported: ${path}`;
    const { properties } = schema;
    const next: unknown =
      properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    if (!isJsonObject(next)) return `does not refer to a valid field`;
    schema = next as Schema;
  }
  return schema;
}
