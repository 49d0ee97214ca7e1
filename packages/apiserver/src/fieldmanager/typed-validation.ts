// Whether an object fits its schema as far as owning fields needs it: known fields, right forms, unique keys. Source:
// structured-merge-diff typed/validate.go, whose words clients see in a 500.
import { ExactNumber, isJsonObject } from '@kapstan/api';
import { formatGoValue, goInterfaceType } from '../schema/go-types.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { fieldElement, formatElement, formatPath, indexElement, type PathElement } from './path-element.ts';
import { declaredForm, itemElement, itemSchema, memberSchema } from './schema-atom.ts';

export interface TypedValidationOptions {
  /** 'allow' for what is stored: it may hold them since before its schema forbade them. */
  readonly duplicates: 'allow' | 'refuse';
}

/** Undefined when the value is valid; else all faults in one text. */
export function typedFault(value: unknown, schema: SchemaNode, options: TypedValidationOptions): string | undefined {
  const validator = new Validator(options);
  validator.validate(value, schema);
  const [first, ...more] = validator.faults;
  if (first === undefined || more.length === 0) return first;
  return ['errors:', ...validator.faults.map((fault) => `  ${fault}`)].join('\n');
}

class Validator {
  readonly faults: string[] = [];
  readonly #options: TypedValidationOptions;
  readonly #path: PathElement[] = [];

  constructor(options: TypedValidationOptions) {
    this.#options = options;
  }

  validate(value: unknown, node: SchemaNode): void {
    if (value === null || value === undefined) return;
    const form = declaredForm(node);
    if (form === 'map') this.#map(value, node);
    else if (form === 'list') this.#list(value, node);
    else if (form === 'scalar') this.#scalar(value, node);
  }

  #fault(text: string): void {
    this.faults.push(this.#path.length === 0 ? text : `${formatPath(this.#path)}: ${text}`);
  }

  #map(value: unknown, node: SchemaNode): void {
    if (!isJsonObject(value)) return this.#fault(`expected map, got &{${formatGoValue(value)}}`);
    for (const [name, member] of Object.entries(value)) {
      const schema = memberSchema(node, name);
      this.#path.push(fieldElement(name));
      if (schema === undefined) this.#fault('field not declared in schema');
      else this.validate(member, schema);
      this.#path.pop();
    }
  }

  #list(value: unknown, node: SchemaNode): void {
    if (!Array.isArray(value)) return this.#fault(`expected list, got &{${formatGoValue(value)}}`);
    const seen = new Set<PathElement>();
    for (const [index, item] of value.entries()) {
      const element = this.#elementOf(item, index, node);
      if (element === undefined) return;
      if (seen.has(element) && this.#options.duplicates === 'refuse') {
        this.#fault(`duplicate entries for key ${formatElement(element)}`);
      }
      seen.add(element);
      this.#path.push(element);
      this.validate(item, itemSchema(node));
      this.#path.pop();
    }
  }

  #elementOf(item: unknown, index: number, node: SchemaNode): PathElement | undefined {
    if (node.listType !== 'map' && node.listType !== 'set') return indexElement(index);
    try {
      return itemElement(node, item);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.#fault(`element ${index}: ${error.message}`);
      return undefined;
    }
  }

  #scalar(value: unknown, node: SchemaNode): void {
    // What is no text in Go, though JSON shows it as one, takes any scalar here; reading it into its type comes later.
    if (node.goType !== undefined && node.format === 'date-time') {
      if (typeof value === 'object' && !(value instanceof ExactNumber))
        this.#fault(`expected any scalar, got &{${formatGoValue(value)}}`);
      return;
    }
    switch (node.type) {
      case 'string':
        if (typeof value !== 'string') this.#fault(`expected string, got ${goSyntax(value)}`);
        return;
      case 'boolean':
        if (typeof value !== 'boolean') this.#fault(`expected boolean, got &{${formatGoValue(value)}}`);
        return;
      default:
        if (typeof value === 'number' || value instanceof ExactNumber) return;
        this.#fault(`expected numeric (int or float), got ${goInterfaceType(value)}`);
    }
  }
}

/** As Go's fmt prints a wrapped value with %#v. */
function goSyntax(value: unknown): string {
  return `&value.valueUnstructured{Value:${goLiteral(value)}}`;
}

function goLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goLiteral).join(', ')}}`;
  if (!isJsonObject(value)) return String(value);
  const members = Object.keys(value).sort();
  return `map[string]interface {}{${members.map((name) => `${JSON.stringify(name)}:${goLiteral(value[name])}`).join(', ')}}`;
}
