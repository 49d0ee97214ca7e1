// Names the Go types of values, which some messages show.
import { kindOf, typeOfValue } from './value.ts';

const goTypes: Readonly<Record<string, string>> = {
  bool: 'types.Bool',
  bytes: 'types.Bytes',
  double: 'types.Double',
  duration: 'types.Duration',
  failure: '*types.Err',
  int: 'types.Int',
  list: '*types.baseList',
  map: '*types.baseMap',
  null: 'types.Null',
  optional: '*types.Optional',
  string: 'types.String',
  timestamp: 'types.Timestamp',
  type: '*types.Type',
  uint: 'types.Uint',
};

/** Returns the type of a value as Go's %T prints it. */
export function goTypeName(value: unknown): string {
  return goTypes[kindOf(value)] ?? `cel.${typeOfValue(value).name.split('.').at(-1)}`;
}
