// PastRules: the rules of a definition before its update. Its expressions keep compiling as stored ones, and an
// unchanged schema is not refused for the cost of an expression. Source: findPreexistingExpressions,
// findVersionsWithUnchangedSchemas.
import type { DeepReadonly } from '@kapstan/api';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinitionSpec } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import type { KnownExpressions } from './rule-compilation.ts';
import { itemsOf, type RuleSchema, rulesOf, valuesOf } from './rule-schema.ts';

type Spec = DeepReadonly<CustomResourceDefinitionSpec>;
type Validation = Spec['versions'][number]['schema'];

export class PastRules implements KnownExpressions {
  readonly #old: Spec | undefined;
  readonly #nextSchemas: ReadonlyMap<string, Validation>;
  readonly #oldSchemas: ReadonlyMap<string, Validation>;
  #texts: { readonly rules: Set<string>; readonly messages: Set<string> } | undefined;

  /** `old` is undefined for a new definition. */
  constructor(next: Spec, old: Spec | undefined) {
    this.#old = old;
    this.#nextSchemas = schemasOf(next);
    this.#oldSchemas = schemasOf(old);
  }

  hasRule(text: string): boolean {
    return this.#known().rules.has(text);
  }

  hasMessage(text: string): boolean {
    return this.#known().messages.has(text);
  }

  /** True when a version's schema has not changed. */
  isUnchanged(version: string): boolean {
    const old = this.#oldSchemas.get(version);
    return old !== undefined && jsonEqual(this.#nextSchemas.get(version), old);
  }

  #known(): { readonly rules: ReadonlySet<string>; readonly messages: ReadonlySet<string> } {
    if (this.#texts !== undefined) return this.#texts;
    const texts = { rules: new Set<string>(), messages: new Set<string>() };
    for (const { schema } of this.#old?.versions ?? []) {
      if (schema?.openAPIV3Schema !== undefined) collect(schema.openAPIV3Schema, texts);
    }
    this.#texts = texts;
    return texts;
  }
}

/** Version → its schema. Of versions with the same name, which are refused, the first counts. */
function schemasOf(spec: Spec | undefined): ReadonlyMap<string, Validation> {
  const schemas = new Map<string, Validation>();
  for (const { name, schema } of spec?.versions ?? []) if (!schemas.has(name)) schemas.set(name, schema);
  return schemas;
}

function collect(schema: RuleSchema, texts: { readonly rules: Set<string>; readonly messages: Set<string> }): void {
  for (const { rule, messageExpression } of rulesOf(schema)) {
    texts.rules.add(rule);
    if (messageExpression) texts.messages.add(messageExpression);
  }
  const { properties = {} } = schema;
  for (const name of Object.keys(properties)) collect(properties[name] as RuleSchema, texts);
  for (const child of [itemsOf(schema), valuesOf(schema)]) if (child !== undefined) collect(child, texts);
}
