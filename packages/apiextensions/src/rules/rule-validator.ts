// RuleValidator holds the rules of a schema by place. Its tree has only places with rules at or below them; the rules
// of a place compile on its first value. Source: apiextensions pkg/apiserver/schema/cel NewValidator.

import type { SlicedWork } from '@kapstan/api/internal';
import { escapeName } from '@kapstan/cel';
import { type DeclType, declTypeOf } from './decl-type.ts';
import { allKnown, type RuleCompilation, RuleCompiler } from './rule-compilation.ts';
import { isEmbedded, itemsOf, type Rule, type RuleSchema, resourceRoot, rulesOf, valuesOf } from './rule-schema.ts';
import { toValueOf } from './unstructured-value.ts';

/** The rules of one place, as programs. */
export interface CompiledRules {
  readonly rules: readonly RuleCompilation[];
  /** True when one of the rules compares a value with its old value. */
  readonly usesOldSelf: boolean;
  /** The reason why none of them compiles. */
  readonly error?: string;
}

interface ValidatorParts {
  readonly schema: RuleSchema;
  readonly isRoot: boolean;
  readonly decl: () => DeclType | undefined;
  readonly items: RuleValidator | undefined;
  readonly values: RuleValidator | undefined;
  readonly properties: ReadonlyMap<string, RuleValidator>;
}

export class RuleValidator {
  readonly schema: RuleSchema;
  readonly rules: readonly Rule[];
  /** Rules of a list's items. */
  readonly items: RuleValidator | undefined;
  /** Rules of a map's values. */
  readonly values: RuleValidator | undefined;
  readonly properties: ReadonlyMap<string, RuleValidator>;
  readonly #isRoot: boolean;
  readonly #decl: () => DeclType | undefined;
  #compiled: CompiledRules | undefined;
  #toValue: ((data: unknown) => unknown) | undefined;

  private constructor({ schema, isRoot, decl, items, values, properties }: ValidatorParts) {
    this.schema = schema;
    this.rules = rulesOf(schema);
    this.items = items;
    this.values = values;
    this.properties = properties;
    this.#isRoot = isRoot;
    this.#decl = decl;
  }

  /** Returns the rules of a schema; undefined when there are none. `isRoot` = the schema describes a whole resource. */
  static of(schema: RuleSchema, isRoot: boolean): RuleValidator | undefined {
    return validatorAt(
      schema,
      isRoot,
      once(() => declTypeOf(schema, isRoot)),
    );
  }

  /** @internal */
  static make(parts: ValidatorParts): RuleValidator {
    return new RuleValidator(parts);
  }

  /** Returns the value that expressions see as `self` or `oldSelf`. */
  toValue(data: unknown): unknown {
    this.#toValue ??= toValueOf(this.#isRoot ? resourceRoot(this.schema) : this.schema);
    return this.#toValue(data);
  }

  /**
   * Returns the rules of this place. They compiled when the definition was written; if one does not compile now,
   * every object gets an error.
   */
  *compiled(): SlicedWork<CompiledRules> {
    if (this.#compiled !== undefined) return this.#compiled;
    const decl = this.#decl();
    const rules: RuleCompilation[] = [];
    if (decl !== undefined) {
      const compiler = new RuleCompiler(this.schema, decl, allKnown);
      for (const rule of this.rules) {
        rules.push(yield* compiler.compile(rule));
        yield;
      }
    }
    // Another request may have been faster during a pause, with the same result.
    this.#compiled ??= {
      rules,
      usesOldSelf: rules.some(({ usesOldSelf }) => usesOldSelf),
      ...(decl === undefined && { error: 'failed to convert to declType for CEL validation rules' }),
    };
    return this.#compiled;
  }
}

function validatorAt(schema: RuleSchema, isRoot: boolean, decl: () => DeclType | undefined): RuleValidator | undefined {
  const element = once(() => {
    const container = decl();
    return container?.kind === 'list' || container?.kind === 'map' ? container.element : undefined;
  });
  const inner = (child: RuleSchema | undefined): RuleValidator | undefined =>
    child === undefined ? undefined : validatorAt(child, isEmbedded(child), element);
  const parts = {
    items: inner(itemsOf(schema)),
    values: inner(valuesOf(schema)),
    properties: propertiesOf(schema, decl),
  };
  const isEmpty = parts.items === undefined && parts.values === undefined && parts.properties.size === 0;
  return isEmpty && rulesOf(schema).length === 0 ? undefined : RuleValidator.make({ schema, isRoot, decl, ...parts });
}

function propertiesOf(schema: RuleSchema, parent: () => DeclType | undefined): ReadonlyMap<string, RuleValidator> {
  const { properties = {} } = schema;
  const validators = new Map<string, RuleValidator>();
  for (const name of Object.keys(properties)) {
    const property = properties[name] as RuleSchema;
    const validator = validatorAt(
      property,
      isEmbedded(property),
      once(() => propertyDecl(name, property, parent())),
    );
    if (validator !== undefined) validators.set(name, validator);
  }
  return validators;
}

/** A property that its object's rules cannot name may still have its own rules. */
export function propertyDecl(name: string, property: RuleSchema, parent: DeclType | undefined): DeclType | undefined {
  const identifier = escapeName(name);
  if (identifier === undefined) return declTypeOf(property, isEmbedded(property));
  return parent?.kind === 'object' ? parent.field(identifier) : undefined;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
