// Environment: the variables, functions, macros and types that expressions may use. Immutable; `extend` makes a larger
// one.
import { macroKey } from '../syntax/macros.ts';
import type { SyntaxOptions } from '../syntax/parser.ts';
import { type CelType, structType, typeOfType } from '../types/cel-type.ts';
import type { FunctionDeclaration } from '../types/function-declaration.ts';
import { joinProviders, noStructs, type TypeProvider } from '../types/type-provider.ts';
import type { Library } from './library.ts';

/** Options of the checks of literals, besides types. */
export interface ValidationOptions {
  /** True if elements of list and map literals must have one type, outside of `format`. */
  readonly requiresSameTypes: boolean;
  /** True if constant durations, timestamps and patterns must be valid. */
  readonly checksLiterals: boolean;
}

/** Adds variables, types or libraries to an {@link Environment}. */
export interface Extension {
  readonly libraries?: readonly Library[] | undefined;
  readonly variables?: ReadonlyMap<string, CelType>;
  readonly provider?: TypeProvider | undefined;
  /** Namespace in which names are looked up first. */
  readonly container?: string;
  readonly validation?: Partial<ValidationOptions>;
  /** True if numbers of different types may be compared with `<` and similar operators. */
  readonly comparesNumbers?: boolean;
}

/** Types, variables and functions of expressions; it compiles them. */
export class Environment {
  readonly #functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly #names: ReadonlyMap<string, CelType>;
  readonly #typeNames: ReadonlyMap<string, CelType>;
  readonly syntax: SyntaxOptions;
  readonly provider: TypeProvider;
  readonly container: string;
  readonly validation: ValidationOptions;
  readonly comparesNumbers: boolean;

  private constructor(parts: EnvironmentParts) {
    this.#functions = parts.functions;
    this.#names = parts.names;
    this.#typeNames = parts.typeNames;
    this.syntax = parts.syntax;
    this.provider = parts.provider;
    this.container = parts.container;
    this.validation = parts.validation;
    this.comparesNumbers = parts.comparesNumbers;
  }

  /** Returns an environment without any names. */
  static empty(): Environment {
    return new Environment({
      functions: new Map(),
      names: new Map(),
      typeNames: new Map(),
      syntax: { macros: new Map(), hasOptionals: false },
      provider: noStructs,
      container: '',
      validation: { requiresSameTypes: false, checksLiterals: false },
      comparesNumbers: false,
    });
  }

  extend(extension: Extension): Environment {
    const libraries = extension.libraries ?? [];
    const types = libraries.flatMap((library) => library.types ?? []);
    const named = (type: CelType): [string, CelType] => [type.name, type];
    const { provider } = extension;
    return new Environment({
      functions: mergeFunctions(this.#functions, libraries),
      names: extension.variables === undefined ? this.#names : new Map([...this.#names, ...extension.variables]),
      typeNames: types.length === 0 ? this.#typeNames : new Map([...this.#typeNames, ...types.map(named)]),
      syntax: mergeSyntax(this.syntax, libraries),
      provider: provider === undefined ? this.provider : joinProviders([provider, this.provider]),
      container: extension.container ?? this.container,
      validation: { ...this.validation, ...extension.validation },
      comparesNumbers: extension.comparesNumbers ?? this.comparesNumbers,
    });
  }

  /** Returns the same environment without macros. */
  withoutMacros(): Environment {
    return this.#with({ syntax: { ...this.syntax, macros: new Map() } });
  }

  #with(change: Partial<EnvironmentParts>): Environment {
    const { syntax, provider, container, validation, comparesNumbers } = this;
    const [functions, names, typeNames] = [this.#functions, this.#names, this.#typeNames];
    return new Environment({
      functions,
      names,
      typeNames,
      syntax,
      provider,
      container,
      validation,
      comparesNumbers,
      ...change,
    });
  }

  /** Returns the names that a name may mean, the most specific first. A name with a leading dot means only itself. */
  candidates(name: string): readonly string[] {
    if (name.startsWith('.')) return [name.slice(1)];
    if (this.container === '') return [name];
    const parts = this.container.split('.');
    const prefixes = parts.map((_, i) => parts.slice(0, parts.length - i).join('.'));
    return [...prefixes.map((prefix) => `${prefix}.${name}`), name];
  }

  variable(name: string): CelType | undefined {
    return this.#names.get(name);
  }

  /** Returns the type that a name denotes, as a value. */
  namedType(name: string): CelType | undefined {
    return this.#typeNames.get(name);
  }

  /** Returns the type of a name that is a variable, a type or a struct; `isConstant` unless it is a variable. */
  lookUp(name: string): { readonly type: CelType; readonly isConstant: boolean } | undefined {
    const variable = this.#names.get(name);
    if (variable !== undefined) return { type: variable, isConstant: false };
    const named = this.#typeNames.get(name) ?? this.#struct(name);
    return named === undefined ? undefined : { type: typeOfType(named), isConstant: true };
  }

  #struct(name: string): CelType | undefined {
    if (!this.provider.hasStruct(name)) return undefined;
    return this.provider.structType?.(name) ?? structType(name);
  }

  function(name: string): FunctionDeclaration | undefined {
    return this.#functions.get(name);
  }

  functions(): IterableIterator<FunctionDeclaration> {
    return this.#functions.values();
  }
}

interface EnvironmentParts {
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly names: ReadonlyMap<string, CelType>;
  readonly typeNames: ReadonlyMap<string, CelType>;
  readonly syntax: SyntaxOptions;
  readonly provider: TypeProvider;
  readonly container: string;
  readonly validation: ValidationOptions;
  readonly comparesNumbers: boolean;
}

function mergeFunctions(
  present: ReadonlyMap<string, FunctionDeclaration>,
  libraries: readonly Library[],
): ReadonlyMap<string, FunctionDeclaration> {
  const added = libraries.flatMap((library) => library.functions ?? []);
  if (added.length === 0) return present;
  const merged = new Map(present);
  for (const declaration of added) {
    const before = merged.get(declaration.name);
    merged.set(declaration.name, before === undefined ? declaration : mergeOverloads(before, declaration));
  }
  return merged;
}

/**
 * A later library adds its overloads to the overloads of earlier libraries, and replaces overloads with the same id.
 */
function mergeOverloads(before: FunctionDeclaration, added: FunctionDeclaration): FunctionDeclaration {
  const ids = new Set(added.overloads.map(({ id }) => id));
  const kept = before.overloads.filter(({ id }) => !ids.has(id));
  return { ...before, ...added, overloads: [...kept, ...added.overloads] };
}

function mergeSyntax(present: SyntaxOptions, libraries: readonly Library[]): SyntaxOptions {
  const macros = libraries.flatMap((library) => library.macros ?? []);
  const hasOptionals = present.hasOptionals || libraries.some((library) => library.hasOptionalSyntax === true);
  if (macros.length === 0) return { ...present, hasOptionals };
  const merged = new Map(present.macros);
  for (const macro of macros) merged.set(macroKey(macro.name, macro.argCount, macro.isMember), macro);
  return { macros: merged, hasOptionals };
}
