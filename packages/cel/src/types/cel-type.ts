// CelType: static types of expressions, which are also the values of `type(x)`. Used by every other folder.

/** The kinds of types. */
export type TypeKind =
  | 'any'
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'opaque'
  | 'string'
  | 'struct'
  | 'timestamp'
  | 'type'
  | 'typeParam'
  | 'uint';

const noParameters: readonly CelType[] = [];

export interface TypeParts {
  readonly parameters?: readonly CelType[];
  readonly isNullable?: boolean;
}

/** A type. Types with the same kind, name and parameters are the same type; compare them with {@link isExactType}. */
export class CelType {
  readonly kind: TypeKind;
  /** Name at run time: `int`, `list`, `google.protobuf.Timestamp`, the name of a struct. */
  readonly name: string;
  readonly parameters: readonly CelType[];
  /** True when null is also a value of this type, as for protobuf's wrappers. */
  readonly isNullable: boolean;

  constructor(kind: TypeKind, name: string, { parameters = noParameters, isNullable = false }: TypeParts = {}) {
    this.kind = kind;
    this.name = name;
    this.parameters = parameters;
    this.isNullable = isNullable;
  }

  /** The element type of a list, the key type of a map, the type inside an optional; `dyn` when there is none. */
  get first(): CelType {
    return this.parameters[0] ?? dynType;
  }

  /** The value type of a map; `dyn` when there is none. */
  get second(): CelType {
    return this.parameters[1] ?? dynType;
  }

  /** The type as cel-go prints it: `list(int)`, `google.protobuf.Timestamp`. */
  toString(): string {
    if (this.kind === 'typeParam') return `<${this.name}>`;
    const name = declaredName(this);
    return this.parameters.length === 0 ? name : `${name}(${this.parameters.join(', ')})`;
  }
}

export const anyType: CelType = new CelType('any', 'google.protobuf.Any');
export const boolType: CelType = new CelType('bool', 'bool');
export const bytesType: CelType = new CelType('bytes', 'bytes');
export const doubleType: CelType = new CelType('double', 'double');
export const durationType: CelType = new CelType('duration', 'google.protobuf.Duration');
export const dynType: CelType = new CelType('dyn', 'dyn');
export const errorType: CelType = new CelType('error', 'error');
export const intType: CelType = new CelType('int', 'int');
export const nullType: CelType = new CelType('null', 'null_type');
export const stringType: CelType = new CelType('string', 'string');
export const timestampType: CelType = new CelType('timestamp', 'google.protobuf.Timestamp');
export const uintType: CelType = new CelType('uint', 'uint');
/** The type of types. */
export const typeType: CelType = new CelType('type', 'type');
/** The result of `type([])`. */
export const anyListType: CelType = listType(dynType);
/** The result of `type({})`. */
export const anyMapType: CelType = mapType(dynType, dynType);
/** The type that `type(optional.none())` returns. */
export const anyOptionalType: CelType = new CelType('opaque', 'optional_type');

/** Returns the type of lists of these elements. */
export function listType(element: CelType): CelType {
  return new CelType('list', 'list', { parameters: [element] });
}

/** Returns the type of maps. */
export function mapType(key: CelType, value: CelType): CelType {
  return new CelType('map', 'map', { parameters: [key, value] });
}

/** Returns the type of optional values. */
export function optionalType(inner: CelType): CelType {
  return opaqueType('optional_type', [inner]);
}

export function opaqueType(name: string, parameters: readonly CelType[] = noParameters): CelType {
  return new CelType('opaque', name, { parameters });
}

/** Returns the type of objects of this name. */
export function structType(name: string): CelType {
  return new CelType('struct', name);
}

export function typeParam(name: string): CelType {
  return new CelType('typeParam', name);
}

export function typeOfType(inner: CelType): CelType {
  return new CelType('type', 'type', { parameters: [inner] });
}

export function nullableType(inner: CelType): CelType {
  return new CelType(inner.kind, inner.name, { parameters: inner.parameters, isNullable: true });
}

/** True for types that accept values of every type: `dyn` and `any`. */
export function isDyn(type: CelType): boolean {
  return type.kind === 'dyn' || type.kind === 'any';
}

export function isDynOrError(type: CelType): boolean {
  return type.kind === 'error' || isDyn(type);
}

export function isOptional(type: CelType): boolean {
  return type.kind === 'opaque' && type.name === 'optional_type';
}

/** True when both are the same type, including the names of type parameters. */
export function isExactType(a: CelType, b: CelType): boolean {
  return isSameType(a, b, true);
}

/** True when both are the same type, whatever their type parameters are called. */
export function isEquivalentType(a: CelType, b: CelType): boolean {
  return isSameType(a, b, false);
}

function isSameType(a: CelType, b: CelType, withParamNames: boolean): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.parameters.length !== b.parameters.length) return false;
  if ((withParamNames || a.kind !== 'typeParam') && a.name !== b.name) return false;
  return a.parameters.every((parameter, i) => isSameType(parameter, b.parameters[i] ?? dynType, withParamNames));
}

function declaredName(type: CelType): string {
  return type.isNullable ? `wrapper(${type.name})` : type.name;
}

const shortNames: Partial<Record<TypeKind, string>> = {
  any: 'any',
  duration: 'duration',
  error: '!error!',
  null: 'null',
  timestamp: 'timestamp',
};

/**
 * Returns the type as the checker's messages name it: `timestamp` for `google.protobuf.Timestamp`, `null` for
 * `null_type`.
 */
export function formatType(type: CelType): string {
  const short = shortNames[type.kind];
  if (short !== undefined) return short;
  if (type.kind === 'typeParam') return type.name;
  if (type.parameters.length === 0) return declaredName(type);
  return `${type.name}(${type.parameters.map(formatType).join(', ')})`;
}

/** Returns a signature as the checker's messages name it: `string.(int, dyn)`. */
export function formatSignature(args: readonly CelType[], isMember: boolean): string {
  const texts = args.map(formatType);
  return isMember ? `${texts[0]}.(${texts.slice(1).join(', ')})` : `(${texts.join(', ')})`;
}
