// Guards check whether arguments have the types of an overload when it is called. In lists and maps they check only the
// first element.
import type { CelType } from '../types/cel-type.ts';
import type { CheckedCall, FunctionDeclaration, Overload } from '../types/function-declaration.ts';
import { type AnyList, listAt, listSize } from '../values/cel-list.ts';
import { type AnyMap, mapFind, mapKeys } from '../values/cel-map.ts';
import { CelFailure, isFailure } from '../values/failure.ts';
import { kindOf, typeOfValue } from '../values/value.ts';

function hasType(value: unknown, type: CelType): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'any':
    case 'typeParam':
      return true;
    case 'string':
      return typeof value === 'string';
    case 'int':
      return kindOf(value) === 'int';
    case 'list':
      return kindOf(value) === 'list' && firstHasType(value as AnyList, type.first);
    case 'map':
      return kindOf(value) === 'map' && entryHasType(value as AnyMap, type);
    default:
      return typeOfValue(value).name === type.name || (type.isNullable && value === null);
  }
}

function firstHasType(list: AnyList, element: CelType): boolean {
  return element.kind === 'typeParam' || listSize(list) === 0 || hasType(listAt(list, 0), element);
}

function entryHasType(map: AnyMap, { first, second }: CelType): boolean {
  if (first.kind === 'typeParam' && second.kind === 'typeParam') return true;
  const [key] = mapKeys(map);
  return key === undefined || (hasType(key, first) && hasType(mapFind(map, key), second));
}

function matches(overload: Overload, args: readonly unknown[]): boolean {
  return args.length === overload.params.length && overload.params.every((param, i) => hasType(args[i], param));
}

/** Returns the error for arguments that no overload accepts; an argument that is an error comes first. */
function noSuchOverload(name: string, args: readonly unknown[]): CelFailure {
  const failed = args.find(isFailure);
  return failed ?? new CelFailure(`no such overload: ${name}(${args.map((arg) => typeOfValue(arg).name).join(', ')})`);
}

/** Returns the implementation of one overload with its guard. */
export function guarded({ name, skipsTypeGuards }: FunctionDeclaration, overload: Overload): CheckedCall {
  const run = overload.run as CheckedCall;
  if (skipsTypeGuards === true) return run;
  return (...args: unknown[]) => (matches(overload, args) ? run(...args) : noSuchOverload(name, args));
}

/** Chooses among all overloads by the types at run time, whether or not they are called on a target. */
export function dispatching({ name, overloads, skipsTypeGuards }: FunctionDeclaration): CheckedCall {
  return (...args: unknown[]) => {
    for (const overload of overloads) {
      if (overload.run === undefined || overload.params.length !== args.length) continue;
      if (skipsTypeGuards === true || matches(overload, args)) return (overload.run as CheckedCall)(...args);
    }
    return noSuchOverload(name, args);
  };
}
