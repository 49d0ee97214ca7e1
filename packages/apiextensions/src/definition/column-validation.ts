// The printer columns of a definition. Source: ValidateCustomResourceColumnDefinition.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { CustomResourceColumnDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';

const types: readonly string[] = ['boolean', 'date', 'integer', 'number', 'string'];
const formats: readonly string[] = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

export function validateColumns(at: Field, columns: DeepReadonly<CustomResourceColumnDefinition[]> | undefined): void {
  at.each(columns, ({ name, type, format, jsonPath }, field) => {
    field.child('name').present(name);
    if (!type) field.child('type').required(`must be one of ${types.join(',')}`);
    else if (!types.includes(type)) field.child('type').invalid(type, `must be one of ${types.join(',')}`);
    if (format && !formats.includes(format))
      field.child('format').invalid(format, `must be one of ${formats.join(',')}`);
    if (field.child('JSONPath').present(jsonPath)) validateSimplePath(field.child('JSONPath'), jsonPath);
  });
}

/** Checks only the first character of a path. Returns true when it is a path. Source: validateSimpleJSONPath. */
export function validateSimplePath(at: Field, path: string): boolean {
  if (path.startsWith('.')) return true;
  at.invalid(path, 'must be a simple json path starting with .');
  return false;
}
