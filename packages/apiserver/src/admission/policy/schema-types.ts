// SchemaTypes: the types of the places in an object, as its schema declares them. Used by type-checking.ts. Source: apiserver
// pkg/cel/common/schemas.go, pkg/cel/types.go.
import { type CelType, listType, mapType, structType, type TypeProvider, typeOf, unescapeName } from '@kapstan/cel';
import type { SchemaNode } from '../../schema/node/schema-node.ts';

const scalars: Readonly<Record<string, CelType>> = {
  string: typeOf('string'),
  boolean: typeOf('bool'),
  number: typeOf('double'),
  integer: typeOf('int'),
};

const formats: Readonly<Record<string, CelType>> = {
  byte: typeOf('bytes'),
  duration: typeOf('google.protobuf.Duration'),
  date: typeOf('google.protobuf.Timestamp'),
  'date-time': typeOf('google.protobuf.Timestamp'),
};

const dyn = typeOf('dyn');
const text = typeOf('string');
/** Published with two types, so expressions do not see it. */
const quantity = 'resource.Quantity';

export class SchemaTypes implements TypeProvider {
  readonly #nodes = new Map<string, SchemaNode>();

  /** Adds an object with fields and returns its type. The names of nested types begin with its name. */
  add(name: string, node: SchemaNode): CelType {
    this.#nodes.set(name, node);
    return structType(name);
  }

  hasStruct(name: string): boolean {
    return this.#nodes.has(name);
  }

  fieldType(struct: string, field: string): CelType | undefined {
    const property = this.#nodes.get(struct)?.properties?.get(unescapeName(field) ?? '');
    return property && this.#typeOf(property, `${struct}.${field}`);
  }

  /** Returns undefined for a place that expressions do not see. */
  #typeOf(node: SchemaNode, name: string): CelType | undefined {
    if (node.intOrString === true) return dyn;
    switch (node.type) {
      case 'array':
        return wrapped(node.items && this.#typeOf(node.items, `${name}.@items`), listType);
      case 'object':
        return this.#objectType(node, name);
      case undefined:
        return node.properties === undefined ? undefined : this.add(name, node);
      default:
        if (node.goType === quantity) return undefined;
        return (node.type === 'string' ? formats[node.format ?? ''] : undefined) ?? scalars[node.type];
    }
  }

  #objectType(node: SchemaNode, name: string): CelType | undefined {
    const { additionalProperties } = node;
    if (typeof additionalProperties !== 'object') return this.add(name, node);
    return wrapped(this.#typeOf(additionalProperties, `${name}.@values`), (values) => mapType(text, values));
  }
}

function wrapped(inner: CelType | undefined, wrap: (inner: CelType) => CelType): CelType | undefined {
  return inner && wrap(inner);
}
