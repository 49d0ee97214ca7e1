// TypeProvider: the port that declares structs, such as schemas of custom resources and objects of policies.
import type { CelType } from './cel-type.ts';

/** Finds types and their fields by name; the port through which schemas come in. */
export interface TypeProvider {
  /** Returns whether a struct of this name exists. */
  hasStruct(name: string): boolean;
  /** Returns the type of its values if that differs from the struct itself, as for protobuf's wrappers. */
  structType?(name: string): CelType | undefined;
  /** Returns the type of a field, or undefined when the struct has none of that name. */
  fieldType(structName: string, field: string): CelType | undefined;
  /** Makes a struct from field values; the result may be a CelFailure. Absent = structs cannot be constructed. */
  construct?(structName: string, fields: ReadonlyMap<string, unknown>): unknown;
}

export const noStructs: TypeProvider = {
  hasStruct: () => false,
  fieldType: () => undefined,
};

/** Joins several providers; the first that knows a struct answers. */
export function joinProviders(providers: readonly TypeProvider[]): TypeProvider {
  const owner = (name: string): TypeProvider => providers.find((provider) => provider.hasStruct(name)) ?? noStructs;
  return {
    hasStruct: (name) => owner(name).hasStruct(name),
    structType: (name) => owner(name).structType?.(name),
    fieldType: (name, field) => owner(name).fieldType(name, field),
    construct: (name, fields) => owner(name).construct?.(name, fields),
  };
}
