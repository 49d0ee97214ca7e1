// Presents the maps and nested objects of an object as values of expressions. Source: apiserver pkg/cel/common unstructuredMap.
import { getOwn } from '@kapstan/api/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import {
  type AnyMap,
  CelFailure,
  CelMapping,
  equalValues,
  escapeName,
  isMap,
  mapFind,
  mapSize,
  overloadFailure,
  unescapeName,
} from '@kapstan/cel';
import { propertyOf, type RuleSchema, valuesOf } from './rule-schema.ts';

type Data = Readonly<Record<string, unknown>>;
type ConversionOf = (schema: RuleSchema) => (data: unknown) => unknown;

abstract class UnstructuredMap extends CelMapping {
  readonly data: Data;
  readonly #toValueOf: ConversionOf;
  #names: readonly string[] | undefined;
  #values: Map<string, unknown> | undefined;

  constructor(data: Data, toValueOf: ConversionOf) {
    super();
    this.data = data;
    this.#toValueOf = toValueOf;
  }

  /** Members that the schema does not name count, too. */
  get size(): number {
    return this.names.length;
  }

  protected get names(): readonly string[] {
    this.#names ??= Object.keys(this.data);
    return this.#names;
  }

  /** Returns the schema of a member; undefined for members that cannot be seen. */
  protected abstract schemaOf(name: string): RuleSchema | undefined;

  protected memberValue(name: string): unknown {
    const data = this.data[name];
    const schema = this.schemaOf(name);
    if (schema === undefined) return undefined;
    if (typeof data !== 'object' || data === null) return this.#toValueOf(schema)(data);
    // A value that a rule reads repeatedly is converted once.
    const known = this.#values?.get(name);
    if (known !== undefined) return known;
    const value = this.#toValueOf(schema)(data);
    this.#values ??= new Map();
    this.#values.set(name, value);
    return value;
  }

  override equals(other: unknown): boolean | CelFailure {
    if (!isMap(other)) return overloadFailure(other);
    if (this.size !== mapSize(other)) return false;
    for (const name of this.names) {
      const equal =
        this.schemaOf(name) === undefined ? this.#equalUnknown(name, other) : this.#equalMember(name, other);
      if (equal !== true) return equal;
    }
    return true;
  }

  #equalMember(name: string, other: AnyMap): boolean | CelFailure {
    const value = this.find(name);
    const found = mapFind(other, name);
    if (value === undefined || found === undefined) return value === found;
    return value instanceof CelFailure ? value : equalValues(value, found);
  }

  /** Members that the schema does not name are compared as data. */
  #equalUnknown(name: string, other: AnyMap): boolean | CelFailure {
    if (!(other instanceof UnstructuredMap)) return overloadFailure(other);
    return !Object.hasOwn(other.data, name) || jsonEqual(this.data[name], other.data[name]);
  }
}

/** An object whose properties the schema names. Null counts as an absent property. */
export class ObjectValue extends UnstructuredMap {
  readonly #schema: RuleSchema;

  constructor(data: Data, schema: RuleSchema, toValueOf: ConversionOf) {
    super(data, toValueOf);
    this.#schema = schema;
  }

  find(key: unknown): unknown {
    if (typeof key !== 'string') return overloadFailure(key);
    const name = unescapeName(key);
    if (name === undefined) return undefined;
    const data = getOwn(this.data, name);
    return data === undefined || data === null ? undefined : this.memberValue(name);
  }

  *entries(): Iterable<{ readonly key: unknown; readonly value: unknown }> {
    for (const name of this.names) {
      if (this.schemaOf(name) === undefined) continue;
      const key = escapeName(name) ?? name;
      yield { key, value: this.find(key) };
    }
  }

  protected override schemaOf(name: string): RuleSchema | undefined {
    return propertyOf(this.#schema, name);
  }
}

/** A map whose values all have one schema. Without such a schema expressions cannot see its contents. */
export class MapValue extends UnstructuredMap {
  readonly #values: RuleSchema | undefined;

  constructor(data: Data, schema: RuleSchema, toValueOf: ConversionOf) {
    super(data, toValueOf);
    this.#values = valuesOf(schema);
  }

  find(key: unknown): unknown {
    if (typeof key !== 'string') return overloadFailure(key);
    return Object.hasOwn(this.data, key) ? this.memberValue(key) : undefined;
  }

  *entries(): Iterable<{ readonly key: unknown; readonly value: unknown }> {
    if (this.#values === undefined) return;
    for (const key of this.names) yield { key, value: this.find(key) };
  }

  protected override schemaOf(): RuleSchema | undefined {
    return this.#values;
  }
}
