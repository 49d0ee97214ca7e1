// DeclTypeProvider: the types of a schema for the checker of expressions. Objects are structs named by their path:
// `selfType1.spec.ports.@idx`. Source: apiserver pkg/cel/types.go DeclTypeProvider, MaybeAssignTypeName.
import { type CelType, listType, mapType, reservedWords, structType, typeOf, type TypeProvider } from '@kapstan/cel';
import type { DeclType, ObjectDecl } from './decl-type.ts';

export class DeclTypeProvider implements TypeProvider {
  readonly #structs = new Map<string, ObjectDecl>();
  readonly #types = new Map<string, CelType>();

  hasStruct(name: string): boolean {
    return this.#structs.has(name);
  }

  fieldType(structName: string, field: string): CelType | undefined {
    const struct = this.#structs.get(structName);
    const decl = struct?.field(field) ?? (reservedWords.has(field) ? struct?.field(`__${field}__`) : undefined);
    return decl === undefined ? undefined : this.typeOf(decl, `${structName}.${field}`);
  }

  /** Returns the type of a place. `name` is the struct's name if it is an object. */
  typeOf(decl: DeclType, name: string): CelType {
    const known = this.#types.get(name);
    if (known !== undefined) return known;
    const type = this.#make(decl, name);
    this.#types.set(name, type);
    return type;
  }

  #make(decl: DeclType, name: string): CelType {
    switch (decl.kind) {
      case 'scalar':
        return decl.type;
      case 'list':
        return listType(this.typeOf(decl.element, `${name}.@idx`));
      case 'map':
        return mapType(typeOf('string'), this.typeOf(decl.element, `${name}.@elem`));
      case 'object':
        this.#structs.set(name, decl);
        return structType(name);
    }
  }
}
