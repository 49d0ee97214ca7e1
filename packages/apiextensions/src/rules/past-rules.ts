// PastRules: the rules of a definition before its update. Its expressions keep compiling as stored ones, and an
// unchanged schema is not refused for the cost of an expression. Source: findPreexistingExpressions,
// findVersionsWithUnchangedSchemas.
import type { DeepReadonly } from '@kapstan/api';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinitionSpec } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import type { KnownExpressions } from './rule-compilation.ts';
import { itemsOf, type RuleSchema, rulesOf, valuesOf } from './rule-schema.ts';

type Spec = DeepReadonly<CustomResourceDefinitionSpec>;

export class PastRules implements KnownExpressions {
  readonly #next: Spec;
  readonly #old: Spec | undefined;
  #texts: { readonly rules: Set<string>; readonly messages: Set<string> } | undefined;

  /** `old` is undefined for a new definition. */
  constructor(next: Spec, old: Spec | undefined) {
    this.#next = next;
    this.#old = old;
  }

  hasRule(text: string): boolean {
    return this.#known().rules.has(text);
  }

  hasMessage(text: string): boolean {
    return this.#known().messages.has(text);
  }

  /** True when a version's schema has not changed. */
  isUnchanged(version: string): boolean {
    const schemas = [this.#next, this.#old].map((spec) => spec?.versions?.find(({ name }) => name === version)?.schema);
    return schemas[1] !== undefined && jsonEqual(schemas[0], schemas[1]);
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

function collect(schema: RuleSchema, texts: { readonly rules: Set<string>; readonly messages: Set<string> }): void {
  for (const { rule, messageExpression } of rulesOf(schema)) {
    texts.rules.add(rule);
    if (messageExpression) texts.messages.add(messageExpression);
  }
  const { properties = {} } = schema;
  for (const name of Object.keys(properties)) collect(properties[name] as RuleSchema, texts);
  for (const child of [itemsOf(schema), valuesOf(schema)]) if (child !== undefined) collect(child, texts);
}
