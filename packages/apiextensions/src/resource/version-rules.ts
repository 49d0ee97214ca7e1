// The rules of a definition's versions. Versions with equal schemas share them, so that each rule compiles once. Used by
// custom-resource.ts.
import type { DeepReadonly } from '@kapstan/api';
import { type JsonSchema, jsonEqual } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { hasRules, type RuleSchema } from '../rules/rule-schema.ts';
import { RuleValidator } from '../rules/rule-validator.ts';

type Definition = DeepReadonly<CustomResourceDefinition>;
type Version = DeepReadonly<CustomResourceDefinitionVersion>;

const anything: JsonSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** Only definitions from before v1 lack a schema; they keep all fields. */
export function jsonSchemaOf(version: Version): JsonSchema {
  return (version.schema?.openAPIV3Schema ?? anything) as JsonSchema;
}

/** Rules by schema, which belongs to the present state of a definition. */
const validators = new WeakMap<JsonSchema, RuleValidator>();

/** Returns a function that finds the rules of a version on its first call; undefined when there are none. */
export function rulesOfVersion(definition: Definition, version: Version): () => RuleValidator | undefined {
  let found: { readonly rules: RuleValidator | undefined } | undefined;
  return () => {
    found ??= { rules: findRules(definition, jsonSchemaOf(version)) };
    return found.rules;
  };
}

function findRules({ spec }: Definition, schema: JsonSchema): RuleValidator | undefined {
  if (!hasRules(schema as RuleSchema)) return undefined;
  const equal = spec.versions.map(jsonSchemaOf).find((other) => jsonEqual(other, schema)) ?? schema;
  const known = validators.get(equal) ?? RuleValidator.of(equal as RuleSchema, true);
  if (known !== undefined) validators.set(equal, known);
  return known;
}
