// Macros with two variables, and the function with which they fill maps.
import type { Library } from '../environment/library.ts';
import { twoVariableMacros } from '../syntax/two-variable-macros.ts';
import { globalOverload } from '../types/function-declaration.ts';
import { type AnyMap, CelMap, mapFind, mapKeys } from '../values/cel-map.ts';
import { CelFailure, isFailure } from '../values/failure.ts';
import { formatValue } from '../values/format-value.ts';
import { GrowingMap } from '../values/mutable-values.ts';

function insert(map: AnyMap, key: unknown, value: unknown): unknown {
  if (mapFind(map, key) !== undefined) return new CelFailure(`insert failed: key ${formatValue(key)} already exists`);
  const target = map instanceof GrowingMap ? map : copyOf(map);
  target.set(key, value);
  return target;
}

function copyOf(map: AnyMap): CelMap {
  const copy = new CelMap();
  for (const key of mapKeys(map)) copy.set(key, mapFind(map, key));
  return copy;
}

function insertAll(map: AnyMap, entries: AnyMap): unknown {
  let target: unknown = map;
  for (const key of mapKeys(entries)) {
    target = insert(target as AnyMap, key, mapFind(entries, key));
    if (isFailure(target)) return target;
  }
  return target;
}

export const twoVariablesLibrary: Library = {
  name: 'comprehensions',
  functions: [
    {
      name: 'cel.@mapInsert',
      overloads: [
        globalOverload('@mapInsert_map_key_value', 'map(K, V), K, V -> map(K, V)', insert),
        globalOverload('@mapInsert_map_map', 'map(K, V), map(K, V) -> map(K, V)', insertAll),
      ],
    },
  ],
  macros: twoVariableMacros,
};
