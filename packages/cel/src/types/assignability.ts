// TypeMapping holds the types found for the type parameters of a check, and the unification that finds them. The rules
// follow cel-go's checker, with its few exceptions (null for structs, `dyn` for everything).
import {
  CelType,
  dynType,
  isDyn,
  isDynOrError,
  isExactType,
  listType,
  mapType,
  opaqueType,
  typeOfType,
} from './cel-type.ts';

interface Undo {
  readonly name: string;
  readonly before: CelType | undefined;
}

/** The types of the type parameters. A failed unification leaves it unchanged. */
export class TypeMapping {
  readonly #types = new Map<string, CelType>();
  readonly #trail: Undo[] = [];

  find(type: CelType): CelType | undefined {
    return type.kind === 'typeParam' ? this.#types.get(type.name) : undefined;
  }

  add(param: CelType, type: CelType): void {
    this.#trail.push({ name: param.name, before: this.#types.get(param.name) });
    this.#types.set(param.name, type);
  }

  /** Returns true when `from` may be used where `to` is required; it then records the types of type parameters. */
  isAssignable(to: CelType, from: CelType): boolean {
    return this.#tries(() => isAssignable(this, to, from));
  }

  isListAssignable(to: readonly CelType[], from: readonly CelType[]): boolean {
    return this.#tries(() => isListAssignable(this, to, from));
  }

  /** Returns the type with known type parameters replaced; the others become `dyn` when `toDyn` is set. */
  substitute(type: CelType, toDyn = false): CelType {
    const found = this.find(type);
    if (found !== undefined) return this.substitute(found, toDyn);
    if (type.kind === 'typeParam') return toDyn ? dynType : type;
    if (type.parameters.length === 0) return type;
    const parameters = type.parameters.map((parameter) => this.substitute(parameter, toDyn));
    if (parameters.every((parameter, i) => parameter === type.parameters[i])) return type;
    return withParameters(type, parameters);
  }

  #tries(unify: () => boolean): boolean {
    const mark = this.#trail.length;
    if (unify()) {
      this.#trail.length = 0;
      return true;
    }
    while (this.#trail.length > mark) {
      const undo = this.#trail.pop() as Undo;
      if (undo.before === undefined) this.#types.delete(undo.name);
      else this.#types.set(undo.name, undo.before);
    }
    return false;
  }
}

function withParameters(type: CelType, parameters: readonly CelType[]): CelType {
  const [first = dynType, second = dynType] = parameters;
  if (type.kind === 'list') return listType(first);
  if (type.kind === 'map') return mapType(first, second);
  if (type.kind === 'type') return typeOfType(first);
  if (type.kind === 'opaque') return opaqueType(type.name, parameters);
  return new CelType(type.kind, type.name, { parameters, isNullable: type.isNullable });
}

function isAssignable(mapping: TypeMapping, a: CelType, b: CelType): boolean {
  if (b.kind === 'typeParam') {
    const [isValid, hasSubstitute] = substitutes(mapping, a, b);
    if (isValid) return true;
    if (hasSubstitute) return false;
  }
  if (a.kind === 'typeParam') return substitutes(mapping, b, a)[0];
  if (isDynOrError(a) || isDynOrError(b)) return true;
  if (a.kind === 'null') return isNullAssignable(b);
  if (b.kind === 'null') return isNullAssignable(a);
  if (a.kind === 'type') return b.kind === 'type';
  if (a.kind === 'opaque' || a.kind === 'list' || a.kind === 'map') {
    return a.kind === b.kind && a.name === b.name && isListAssignable(mapping, a.parameters, b.parameters);
  }
  return a.kind === b.kind && a.name === b.name && a.parameters.length === b.parameters.length;
}

function isListAssignable(mapping: TypeMapping, a: readonly CelType[], b: readonly CelType[]): boolean {
  return a.length === b.length && a.every((type, i) => isAssignable(mapping, type, b[i] ?? dynType));
}

/** Returns whether the type parameter `param` may become `type`, and whether it had a type before. */
function substitutes(mapping: TypeMapping, type: CelType, param: CelType): [isValid: boolean, hasSubstitute: boolean] {
  if (type.kind === param.kind && isExactType(type, param)) return [true, true];
  const known = mapping.find(param);
  if (known === undefined) {
    if (!isAbsentFrom(mapping, param, type)) return [false, false];
    mapping.add(param, type);
    return [true, false];
  }
  if (type.kind === known.kind && isExactType(type, known)) return [true, true];
  if (!isAssignable(mapping, type, known)) return [false, true];
  const general = mostGeneral(type, known);
  if (isAbsentFrom(mapping, param, general)) mapping.add(param, general);
  return [true, true];
}

function isNullAssignable(type: CelType): boolean {
  if (type.isNullable || type.kind === 'null') return true;
  return ['opaque', 'struct', 'any', 'duration', 'timestamp'].includes(type.kind);
}

/**
 * Returns true when the type does not contain the parameter; a parameter cannot stand for a type that does (the occurs
 * check).
 */
function isAbsentFrom(mapping: TypeMapping, param: CelType, within: CelType): boolean {
  if (isExactType(param, within)) return false;
  if (within.kind === 'typeParam') {
    const known = mapping.find(within);
    return known === undefined || isAbsentFrom(mapping, param, known);
  }
  return within.parameters.every((parameter) => isAbsentFrom(mapping, param, parameter));
}

/** Returns the more general of two types that unify. */
export function mostGeneral(a: CelType, b: CelType): CelType {
  return isEqualOrLessSpecific(a, b) ? a : b;
}

function isEqualOrLessSpecific(a: CelType, b: CelType): boolean {
  if (isDyn(a) || a.kind === 'typeParam') return true;
  if (isDyn(b) || b.kind === 'typeParam') return false;
  if (a.kind !== b.kind) return false;
  if (a.kind === 'type') return true;
  if (a.kind !== 'opaque' && a.kind !== 'list' && a.kind !== 'map') return isExactType(a, b);
  if (a.name !== b.name || a.parameters.length !== b.parameters.length) return false;
  return a.parameters.every((parameter, i) => isEqualOrLessSpecific(parameter, b.parameters[i] ?? dynType));
}
