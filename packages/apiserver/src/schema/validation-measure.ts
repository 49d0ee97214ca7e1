// ValidationMeasure counts the work that validating a value by its schema takes, without doing it. Used by
// registry/store/large-validation.ts.
import { isJsonObject, knownSize } from '@kapstan/api/internal';
import { patternSize, stepsToCompile } from '@kapstan/cel';
import { isCompiledPattern } from './pattern.ts';
import type { JsonSchema } from './structural-schema.ts';

/** Maximum number of values checked in one turn, each counted once for every schema that it is checked against. */
const mostNodes = 10_000;
/** Maximum number of characters in one turn: checks read each of them, some many times. */
const mostCharacters = 64 * 1024;
/** Maximum number of steps in one turn for matching patterns: about ten milliseconds. */
const mostSteps = 256 * 1024;
/** Compiling a pattern takes as long as this many instructions more, however short it is. */
const instructionsOfEach = 16;

const noSchema: JsonSchema = {};

/**
 * Counts only up to the limits, which make a turn of about 10 ms: most objects have a few hundred values. A small one
 * may take long too, where its schema has thousands of alternatives, long enums or large patterns.
 */
export class ValidationMeasure {
  #nodes = mostNodes;
  #characters = mostCharacters;
  #steps = mostSteps;
  /** Enums and patterns that are counted: each is compiled once. */
  readonly #compiled = new Set<unknown>();

  /** True when the value, together with all earlier ones, can be checked against the schema in one turn. */
  fits(value: unknown, schema: JsonSchema): boolean {
    return this.#countSchema(value, schema) && this.#countValue(value, schema) && this.#fitsBranches(value, schema);
  }

  /** Counts a value of a kind whose rules are functions, which read each character a few times. */
  fitsWithoutSchema(value: unknown): boolean {
    return this.#fitsPlain(value, 'values');
  }

  #countSchema(value: unknown, schema: JsonSchema): boolean {
    const { pattern, required } = schema;
    if (Array.isArray(required) && isJsonObject(value)) this.#nodes -= required.length;
    if (Array.isArray(schema.enum)) {
      if (this.#isFirst(schema.enum)) this.#nodes -= schema.enum.length;
      // The whole value is made a text.
      if (!this.#fitsPlain(value)) return false;
    }
    // Equal items are found by their texts.
    const hasSet = schema['x-kubernetes-list-type'] !== undefined || schema.uniqueItems === true;
    if (hasSet && !this.#fitsPlain(value)) return false;
    if (typeof pattern === 'string' && pattern !== '') this.#countPattern(pattern, value);
    return this.#nodes >= 0 && this.#steps >= 0;
  }

  #countPattern(pattern: string, value: unknown): void {
    if (typeof value !== 'string' && isCompiledPattern(pattern)) return;
    const size = patternSize(pattern);
    if (!isCompiledPattern(pattern) && this.#isFirst(pattern))
      this.#steps -= (size + instructionsOfEach) * stepsToCompile;
    if (typeof value === 'string') this.#steps -= size * value.length;
  }

  #isFirst(part: unknown): boolean {
    if (this.#compiled.has(part)) return false;
    this.#compiled.add(part);
    return true;
  }

  #countValue(value: unknown, schema: JsonSchema): boolean {
    this.#nodes -= 1;
    if (this.#nodes < 0) return false;
    if (typeof value === 'string') {
      this.#characters -= value.length;
      return this.#characters >= 0;
    }
    if (typeof value !== 'object' || value === null) return true;
    if (Array.isArray(value)) {
      const items = schemaOr(schema.items);
      return value.length <= this.#nodes && value.every((item) => this.fits(item, items));
    }
    return knownSize(value) <= this.#nodes && this.#fitsMembers(value as Record<string, unknown>, schema);
  }

  #fitsMembers(value: Record<string, unknown>, schema: JsonSchema): boolean {
    const properties = schemaOr(schema.properties);
    const rest = schemaOr(schema.additionalProperties);
    for (const key in value) {
      const own = Object.hasOwn(properties, key) ? schemaOr(properties[key]) : rest;
      if (!this.fits(value[key], own)) return false;
    }
    return true;
  }

  /** All branches are checked, even where the first one decides. */
  #fitsBranches(value: unknown, schema: JsonSchema): boolean {
    for (const word of ['allOf', 'anyOf', 'oneOf'] as const) {
      const branches = schema[word];
      if (Array.isArray(branches) && !branches.every((branch) => this.fits(value, schemaOr(branch)))) return false;
    }
    return !isJsonObject(schema.not) || this.fits(value, schema.not);
  }

  #fitsPlain(value: unknown, counted: 'all' | 'values' = 'all'): boolean {
    this.#nodes -= 1;
    if (this.#nodes < 0) return false;
    if (typeof value === 'string') {
      if (counted === 'all') this.#characters -= value.length;
      return this.#characters >= 0;
    }
    if (typeof value !== 'object' || value === null) return true;
    // for…in would first make a text of each index.
    if (Array.isArray(value))
      return value.length <= this.#nodes && value.every((item) => this.#fitsPlain(item, counted));
    if (knownSize(value) > this.#nodes) return false;
    for (const key in value) if (!this.#fitsPlain((value as Record<string, unknown>)[key], counted)) return false;
    return true;
  }
}

const schemaOr = (schema: unknown): JsonSchema => (isJsonObject(schema) ? schema : noSchema);
