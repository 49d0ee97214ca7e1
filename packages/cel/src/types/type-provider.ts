// TypeProvider: the port through which structs are declared: schemas of custom resources, objects of policies.
import type { CelType } from './cel-type.ts';

export interface TypeProvider {
  /** Whether a struct of this name exists. */
  hasStruct(name: string): boolean;
  /** The type of its values, where that is not the struct itself, as of protobuf's wrappers. */
  structType?(name: string): CelType | undefined;
  /** The type of a field, or undefined when the struct has none of that name. */
  fieldType(structName: string, field: string): CelType | undefined;
  /** Makes a struct of field values; the result may be a CelFailure. Undefined when structs cannot be constructed. */
  construct?(structName: string, fields: ReadonlyMap<string, unknown>): unknown;
}

export const noStructs: TypeProvider = {
  hasStruct: () => false,
  fieldType: () => undefined,
};

/** Several providers as one; the first that knows a struct answers. */
export function joinProviders(providers: readonly TypeProvider[]): TypeProvider {
  const owner = (name: string): TypeProvider => providers.find((provider) => provider.hasStruct(name)) ?? noStructs;
  return {
    hasStruct: (name) => owner(name).hasStruct(name),
    structType: (name) => owner(name).structType?.(name),
    fieldType: (name, field) => owner(name).fieldType(name, field),
    construct: (name, fields) => owner(name).construct?.(name, fields),
  };
}
