// Checks an object against its schema as far as ownership requires: known fields, correct types, unique keys. Clients
// see the texts in a 500. Source: structured-merge-diff typed/validate.go.

import { type DeepReadonly, ExactNumber, type UnstructuredObject } from '@kapstan/api';
import { formatApiVersion, isJsonObject, namesInSlices, type SlicedWork, SlicePace } from '@kapstan/api/internal';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { goInterfaceType } from '../schema/go/go-types.ts';
import { cutShort, shortGoSyntax, shortGoValue } from '../schema/go/short-go-text.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { fieldElement, formatElement, formatPath, indexElement, type PathElement } from './path-element.ts';
import { declaredForm, itemElementOrNone, itemFault, itemSchema, memberSchema, rootSchema } from './schema-atom.ts';

export interface TypedValidationOptions {
  /** 'allow' for stored objects, which may have duplicates from before their schema forbade them. */
  readonly duplicates: 'allow' | 'refuse';
}

/**
 * Returns undefined when the value is valid, otherwise its faults in one text: the first thousand, or fewer long ones.
 */
export function* typedFault(
  value: unknown,
  schema: SchemaNode,
  options: TypedValidationOptions,
): SlicedWork<string | undefined> {
  const validator = new Validator(options);
  yield* validator.validate(value, schema);
  return validator.faults.text();
}

/**
 * Returns false for a custom resource if any part contradicts the schema, even a part that the endpoint ignores. Such an
 * object loses its managers. Source: managedfields UpdateNoErrors.
 */
export function* isTyped(
  object: DeepReadonly<UnstructuredObject>,
  definition: ResourceDefinition,
): SlicedWork<boolean> {
  const { schema, kind } = definition;
  if (definition.isCustom !== true) return true;
  if (object.kind !== kind || object.apiVersion !== formatApiVersion(definition)) return false;
  return (yield* typedFault(object, rootSchema(schema), { duplicates: 'allow' })) === undefined;
}

/** Maximum number of faults that an answer names: each has a path and a value that can be as long as the request. */
const maxNamed = 1000;
/** Maximum number of characters of all these texts; the text that exceeds it is the last. */
const maxTextLength = 64 * 1024;
/** Maximum number of characters of one path or value. */
const maxShown = 10_000;

class Faults {
  readonly #texts: string[] = [];
  #count = 0;
  #length = 0;

  /** Counts a fault. Calls `describe` only while there is room for more texts. */
  add(describe: () => string): void {
    this.#count++;
    if (this.#texts.length >= maxNamed || this.#length >= maxTextLength) return;
    const text = describe();
    this.#length += text.length;
    this.#texts.push(text);
  }

  text(): string | undefined {
    const [first] = this.#texts;
    if (first === undefined || this.#count === 1) return first;
    const more = this.#count - this.#texts.length;
    const lines = more === 0 ? this.#texts : [...this.#texts, `and ${more} more`];
    return ['errors:', ...lines.map((fault) => `  ${fault}`)].join('\n');
  }
}

class Validator {
  readonly faults = new Faults();
  readonly #options: TypedValidationOptions;
  readonly #path: PathElement[] = [];
  readonly #pace = new SlicePace();

  constructor(options: TypedValidationOptions) {
    this.#options = options;
  }

  *validate(value: unknown, node: SchemaNode): SlicedWork<void> {
    if (value === null || value === undefined) return;
    const form = declaredForm(node);
    if (form === 'map') yield* this.#map(value, node);
    else if (form === 'list') yield* this.#list(value, node);
    else if (form === 'scalar') this.#scalar(value, node);
  }

  #fault(describe: () => string): void {
    const path = this.#path;
    this.faults.add(() => (path.length === 0 ? describe() : `${cutShort(formatPath(path), maxShown)}: ${describe()}`));
  }

  *#map(value: unknown, node: SchemaNode): SlicedWork<void> {
    if (!isJsonObject(value)) return this.#fault(() => `expected map, got &{${shortGoValue(value, maxShown)}}`);
    let hasUnknown = false;
    for (const name of yield* namesInSlices(value)) {
      if (this.#pace.isDue()) yield;
      const schema = memberSchema(node, name);
      // Go stops at the first unknown field of a map, in its own random order.
      if (schema === undefined && hasUnknown) continue;
      this.#path.push(fieldElement(name));
      if (schema === undefined) this.#fault(() => 'field not declared in schema');
      else yield* this.validate(value[name], schema);
      hasUnknown ||= schema === undefined;
      this.#path.pop();
    }
  }

  *#list(value: unknown, node: SchemaNode): SlicedWork<void> {
    if (!Array.isArray(value)) return this.#fault(() => `expected list, got &{${shortGoValue(value, maxShown)}}`);
    const seen = new Set<PathElement>();
    const isAssociative = node.listType === 'map' || node.listType === 'set';
    const items = itemSchema(node);
    for (const [index, item] of value.entries()) {
      if (this.#pace.isDue()) yield;
      const element = isAssociative ? itemElementOrNone(node, item) : indexElement(index);
      if (element === undefined) return this.#fault(() => `element ${index}: ${itemFault(node, item)}`);
      if (seen.has(element) && this.#options.duplicates === 'refuse') {
        this.#fault(() => `duplicate entries for key ${cutShort(formatElement(element), maxShown)}`);
      }
      seen.add(element);
      this.#path.push(element);
      yield* this.validate(item, items);
      this.#path.pop();
    }
  }

  #scalar(value: unknown, node: SchemaNode): void {
    // A string with a format accepts any scalar here; decoding and validation check it later. Source: schemaconv
    // convertPrimitive.
    if (node.type === 'string' && node.format !== undefined && node.format !== '' && node.format !== 'byte') {
      if (typeof value === 'object' && !(value instanceof ExactNumber))
        this.#fault(() => `expected any scalar, got &{${shortGoValue(value, maxShown)}}`);
      return;
    }
    switch (node.type) {
      case 'string':
        if (typeof value !== 'string')
          this.#fault(() => `expected string, got &value.valueUnstructured{Value:${shortGoSyntax(value, maxShown)}}`);
        return;
      case 'boolean':
        if (typeof value !== 'boolean') this.#fault(() => `expected boolean, got &{${shortGoValue(value, maxShown)}}`);
        return;
      default:
        if (typeof value === 'number' || value instanceof ExactNumber) return;
        this.#fault(() => `expected numeric (int or float), got ${goInterfaceType(value)}`);
    }
  }
}
