// Turns the JSON Schema of a library into the structural schema that a custom resource definition holds. A structural schema stays
// unchanged. Keywords that change no object are left out with a note; for those that cannot be expressed it throws a TypeError that names
// the place. Used by resource-definition.ts. Source: apiextensions-apiserver pkg/apiserver/schema.
import { messageOf } from '../errors/message-of.ts';
import { unionSchema } from './union-schema.ts';

type Schema = Readonly<Record<string, unknown>>;

export interface StructuralSchema {
  readonly schema: Schema;
  /** Parts of the schema that a definition cannot express, for people: ".spec.text: …". */
  readonly notes: readonly string[];
}

/** Throws TypeError for a schema that no definition can hold. `path` is its place in the object, such as ".spec". */
export function structuralSchema(given: unknown, path: string): StructuralSchema {
  const root = jsonSchemaOf(given, path);
  const conversion = new SchemaConversion(root);
  return { schema: conversion.convert(root, path), notes: conversion.notes };
}

interface Standard {
  readonly vendor?: unknown;
  readonly jsonSchema?: { readonly input?: (options: { readonly target: string }) => unknown };
}

function jsonSchemaOf(given: unknown, path: string): Schema {
  const standard = (given as { readonly '~standard'?: Standard } | undefined)?.['~standard'];
  if (standard === undefined) {
    if (isSchema(given)) return given;
    throw new TypeError(`the schema of ${path} must be an object, not ${JSON.stringify(given)}`);
  }
  if (typeof standard.jsonSchema?.input !== 'function') {
    const advice = standard.vendor === 'valibot' ? ': use toStandardJsonSchema of @valibot/to-json-schema' : '';
    throw new TypeError(`the schema of ${path} is of ${String(standard.vendor)} and has no JSON Schema${advice}`);
  }
  try {
    return standard.jsonSchema.input({ target: 'draft-2020-12' }) as Schema;
  } catch (error) {
    const why = messageOf(error);
    throw new TypeError(`the schema of ${path} cannot be expressed as JSON Schema: ${why}`, { cause: error });
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Keywords that say nothing about objects, or that only another kind of validator reads. */
const annotations = ['$schema', '$id', '$comment', '$anchor', '$defs', 'definitions', 'id'];
const unsaid = [
  'readOnly',
  'writeOnly',
  'deprecated',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
  'examples',
];
const inexpressible = ['if', 'then', 'else', 'dependentSchemas', 'dependentRequired', 'dependencies', 'contains'];
const alsoInexpressible = [
  'prefixItems',
  'unevaluatedProperties',
  'unevaluatedItems',
  'additionalItems',
  '$dynamicRef',
];
/** A schema whose references nest deeper than this contains itself. */
const maxDepth = 100;

class SchemaConversion {
  readonly notes: string[] = [];
  readonly #root: Schema;

  constructor(root: Schema) {
    this.#root = root;
  }

  convert(given: unknown, path: string, depth = 0): Schema {
    if (given === true) return { 'x-kubernetes-preserve-unknown-fields': true };
    if (!isSchema(given) || isAnything(given.not)) throw refusal(path, 'the schema allows no value');
    if (depth > maxDepth)
      throw refusal(path, 'the schema contains itself; end it with x-kubernetes-preserve-unknown-fields');
    const schema = this.#said(this.#resolved(given, path), path);
    // Descriptions for people, as from z.any().describe('…'), which allow any value.
    if (isOnlyDescribed(schema)) return { ...schema, 'x-kubernetes-preserve-unknown-fields': true };
    return this.#withChildren(this.#united(scalarWords(schema, path), path, depth), path, depth);
  }

  /** Replaces a reference by its target; keywords next to the reference are kept too. */
  #resolved(schema: Schema, path: string, depth = 0): Schema {
    const { $ref, ...beside } = schema;
    if ($ref === undefined) return schema;
    const steps = typeof $ref === 'string' && $ref.startsWith('#') ? $ref.split('/').slice(1) : undefined;
    if (steps === undefined || depth > maxDepth)
      throw refusal(path, `the reference ${JSON.stringify($ref)} leads nowhere`);
    const names = steps.map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
    const target = names.reduce<unknown>(
      (at, name) => (isSchema(at) && Object.hasOwn(at, name) ? at[name] : undefined),
      this.#root,
    );
    if (!isSchema(target)) throw refusal(path, `the reference ${JSON.stringify($ref)} leads nowhere`);
    return this.#resolved({ ...target, ...beside }, path, depth + 1);
  }

  /** Leaves out keywords that a definition does not have, with a note for each one that restricts objects. */
  #said(schema: Schema, path: string): Schema {
    const said: Record<string, unknown> = {};
    for (const [word, value] of Object.entries(schema)) {
      if (annotations.includes(word)) continue;
      if (inexpressible.includes(word) || alsoInexpressible.includes(word))
        throw refusal(path, `${word} cannot be expressed in a custom resource definition`);
      if (unsaid.includes(word)) this.notes.push(`${path}: ${word} ${JSON.stringify(value)} is not in the definition`);
      else said[word] = value;
    }
    return this.#objectWords(said, path);
  }

  #objectWords(schema: Schema, path: string): Schema {
    const { propertyNames, patternProperties, uniqueItems, ...rest } = schema;
    if (propertyNames !== undefined && !isAnyString(propertyNames))
      throw refusal(path, 'propertyNames cannot be expressed; a rule (x-kubernetes-validations) can say it');
    const kept: Record<string, unknown> = { ...rest };
    if (patternProperties !== undefined) kept.additionalProperties = valuesOfPatterns(patternProperties, path);
    if (kept.additionalProperties === false) {
      delete kept.additionalProperties;
      this.notes.push(`${path}: unknown fields are pruned by the server, not refused (additionalProperties: false)`);
    } else if (
      kept.additionalProperties !== undefined &&
      isSchema(kept.properties) &&
      Object.keys(kept.properties).length > 0
    ) {
      if (!isAnything(kept.additionalProperties))
        throw refusal(path, 'properties and additionalProperties exclude each other in a custom resource definition');
      delete kept.additionalProperties;
      kept['x-kubernetes-preserve-unknown-fields'] = true;
    }
    if (uniqueItems === true) kept['x-kubernetes-list-type'] = 'set';
    return kept;
  }

  /** Lifts types out of alternatives, because a structural schema has each type once, outside of them. */
  #united(schema: Schema, path: string, depth: number): Schema {
    if (schema['x-kubernetes-int-or-string'] === true) return schema;
    let united = this.#withoutAllOf(schema, path, depth);
    for (const word of ['anyOf', 'oneOf'] as const) {
      const alternatives = united[word];
      if (!Array.isArray(alternatives) || united.type !== undefined || !alternatives.some((one) => isTyped(one)))
        continue;
      const { [word]: _lifted, ...outer } = united;
      const branches = alternatives.map((one) => this.#branch(one, path, depth));
      united = withOuter(unionSchema(branches, { word, path }), this.#withChildren(outer, path, depth), path);
    }
    return united;
  }

  #branch(alternative: unknown, path: string, depth: number): Schema {
    if (isSchema(alternative) && (alternative.type === 'null' || alternative.const === null)) return { type: 'null' };
    return this.convert(alternative, path, depth + 1);
  }

  /** Merges the parts of an intersection that have types; parts without types are limits and may stay. */
  #withoutAllOf(schema: Schema, path: string, depth: number): Schema {
    const { allOf, ...outer } = schema;
    if (!Array.isArray(allOf) || outer.type !== undefined || !allOf.some((one) => isTyped(one))) return schema;
    // A part that only describes the whole does not restrict unknown fields.
    const parts = allOf.map((part) =>
      isSchema(part) && isOnlyDescribed(part) ? this.#said(part, path) : this.convert(part, path, depth + 1),
    );
    return parts.reduce<Schema>((whole, part) => intersection(whole, part, path), outer);
  }

  #withChildren(schema: Schema, path: string, depth: number): Schema {
    const { properties, items, additionalProperties } = schema;
    const converted: Record<string, unknown> = { ...schema };
    if (Array.isArray(items)) throw refusal(path, 'a list with a schema for each place (tuple) cannot be expressed');
    if (isSchema(properties)) {
      const children = Object.entries(properties).map(([name, child]) => [
        name,
        this.convert(child, `${path}.${name}`, depth + 1),
      ]);
      converted.properties = Object.fromEntries(children);
    }
    if (items !== undefined) converted.items = this.convert(items, `${path}[]`, depth + 1);
    if (isSchema(additionalProperties))
      converted.additionalProperties = this.convert(additionalProperties, `${path}.*`, depth + 1);
    return converted;
  }
}

function refusal(path: string, why: string): TypeError {
  return new TypeError(`${path}: ${why}`);
}

/** True for a schema that describes values; `required`, `not` and similar keywords only limit them. */
function isTyped(schema: unknown): boolean {
  if (!isSchema(schema)) return false;
  const words = ['type', '$ref', 'const', 'enum'];
  if (words.some((word) => schema[word] !== undefined)) return true;
  return ['anyOf', 'oneOf', 'allOf'].some((word) => Array.isArray(schema[word]) && schema[word].some(isTyped));
}

/** Keywords that do not restrict the allowed values. */
const descriptive = [...annotations, ...unsaid, 'title', 'description', 'default', 'example', 'nullable'];

const isOnlyDescribed = (schema: Schema): boolean => Object.keys(schema).every((word) => descriptive.includes(word));

const isAnything = (schema: unknown): boolean =>
  schema === true || (isSchema(schema) && Object.keys(schema).length === 0);

const isAnyString = (schema: unknown): boolean =>
  isAnything(schema) ||
  (isSchema(schema) && Object.keys(schema).every((word) => word === 'type') && schema.type === 'string');

/** Patterns by which libraries express "any name". */
const anyName = ['^.*$', '^(.*)$', '.*', ''];

function valuesOfPatterns(patterns: unknown, path: string): unknown {
  const [first, ...more] = isSchema(patterns) ? Object.entries(patterns) : [];
  if (first === undefined || more.length > 0 || !anyName.includes(first[0]))
    throw refusal(path, 'patternProperties cannot be expressed; a rule (x-kubernetes-validations) can say it');
  return first[1];
}

/** Rewrites keywords that JSON Schema has spelt in another way since OpenAPI 3.0. */
function scalarWords(schema: Schema, path: string): Schema {
  const { const: only, ...rest } = schema;
  const converted: Record<string, unknown> = { ...rest };
  if (only !== undefined) converted.enum = [only];
  for (const [word, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof converted[word] !== 'number') continue;
    const [exclusive, inclusive] = [converted[word], converted[limit]];
    const isTighter =
      typeof inclusive !== 'number' || (word === 'exclusiveMinimum' ? exclusive >= inclusive : exclusive <= inclusive);
    converted[limit] = isTighter ? exclusive : inclusive;
    if (isTighter) converted[word] = true;
    else delete converted[word];
  }
  return typed(converted, path);
}

/** Gives a schema its one type: from a list of types, or from its values. */
function typed(schema: Record<string, unknown>, path: string): Schema {
  const values = Array.isArray(schema.enum) ? schema.enum : undefined;
  const given = Array.isArray(schema.type) ? (schema.type as readonly string[]) : undefined;
  const types =
    given ?? (schema.type === undefined && values !== undefined ? [...new Set(values.map(typeOfValue))] : undefined);
  if (types === undefined) return schema;
  const { type: _replaced, ...rest } = schema;
  const some = types.filter((type) => type !== 'null');
  const nullable = some.length < types.length ? { nullable: true } : {};
  const listed = values !== undefined && some.length < types.length ? { enum: [...new Set([...values, null])] } : {};
  const name = [...some].sort().join();
  if (name === 'integer,string') return { 'x-kubernetes-int-or-string': true, ...rest, ...listed, ...nullable };
  const type = name === 'integer,number' ? 'number' : some[0];
  if (type === undefined || (some.length > 1 && type !== 'number'))
    throw refusal(path, `values of several types (${types.join(', ')}) cannot be expressed`);
  return { type, ...rest, ...listed, ...nullable };
}

function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** Merges the keywords of alternatives with the keywords next to them: both apply, and descriptions of the whole win. */
function withOuter(united: Schema, outer: Schema, path: string): Schema {
  const kept = Object.entries(united).filter(([word]) => !(descriptive.includes(word) && outer[word] !== undefined));
  const whole = intersection(Object.fromEntries(kept), outer, path);
  if (isSchema(whole.properties) && whole.additionalProperties !== undefined)
    throw refusal(path, 'properties and additionalProperties exclude each other in a custom resource definition');
  return whole;
}

/** Merges two parts that both apply. Throws TypeError where they disagree about a keyword. */
function intersection(one: Schema, other: Schema, path: string): Schema {
  const whole: Record<string, unknown> = { ...one };
  for (const [word, value] of Object.entries(other)) {
    const present = whole[word];
    if (present === undefined || JSON.stringify(present) === JSON.stringify(value)) whole[word] = value;
    else if (word === 'required') whole[word] = [...new Set([...(present as string[]), ...(value as string[])])];
    else if (word === 'properties' && isSchema(present) && isSchema(value))
      whole[word] = intersectionOfProperties(present, value, path);
    else throw refusal(path, `the parts of an intersection say different things about ${word}`);
  }
  return whole;
}

function intersectionOfProperties(one: Schema, other: Schema, path: string): Schema {
  const whole: Record<string, unknown> = { ...one };
  for (const [name, schema] of Object.entries(other))
    whole[name] = isSchema(whole[name]) ? intersection(whole[name], schema as Schema, `${path}.${name}`) : schema;
  return whole;
}
