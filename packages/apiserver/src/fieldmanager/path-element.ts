// One step of a path to a field, as the text that FieldsV1 has for it: f:name, k:{"name":"a"}, v:"x", i:0. Used by
// field-set.ts and everything that walks objects beside their sets.

import { parseJson, stringifyJson } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';

/** A step in its one canonical spelling, so that equal steps are equal texts. */
export type PathElement = string;
export type FieldPath = readonly PathElement[];

/** Steps by the names of fields: the same few stand in every object, and a text that is at hand need not be hashed anew. */
const fieldElements = new Map<string, PathElement>();
const maxFieldElements = 10_000;
// Names in schemas are shorter; a key of somebody's data can be as long as the body that it came in. What is kept is no part of
// one: V8 copies the names of members.
const maxKeptLength = 64;

/** A member of a map or struct. */
export function fieldElement(name: string): PathElement {
  const known = fieldElements.get(name);
  if (known !== undefined) return known;
  const element = `f:${name}`;
  if (name.length > maxKeptLength) return element;
  // Names of data and labels never end: once in a while all are forgotten.
  if (fieldElements.size >= maxFieldElements) fieldElements.clear();
  fieldElements.set(name, element);
  return element;
}

/** The name of a member, or undefined for another kind of step. */
export function fieldNameOf(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

/** An item of a list of maps, by its keys. */
export function keyElement(keys: ReadonlyMap<string, unknown>): PathElement {
  const names = [...keys.keys()].sort();
  return `k:{${names.map((name) => `${stringifyJson(name)}:${stringifyJson(keys.get(name))}`).join(',')}}`;
}

/** An item of a set, by its value. */
export function valueElement(value: unknown): PathElement {
  return `v:${stringifyJson(value)}`;
}

/** An item of an atomic list, by its place: in error texts only. */
export function indexElement(index: number): PathElement {
  return `i:${index}`;
}

const simpleValue = '(?:"[^"\\\\\\u0000-\\u001f]*"|0|-?[1-9]\\d{0,14}|true|false)';
const simpleMember = `"([\\w.-]+)":${simpleValue}`;
/** Most steps as every server writes them: canonical at a glance. */
const canonicalStep = new RegExp(`^(?:v:${simpleValue}|k:\\{${simpleMember}(?:,${simpleMember})?\\})$`);

/** The canonical spelling of a step that a client wrote. Throws TypeError for what is none. */
export function parsePathElement(text: string): PathElement {
  const simple = text.startsWith('f:') ? null : canonicalStep.exec(text);
  if (simple !== null && (simple[2] === undefined || (simple[1] ?? '') < simple[2])) return text;
  const rest = text.slice(2);
  switch (text.slice(0, 2)) {
    case 'f:':
      return text;
    case 'k:': {
      const keys = parse(text, rest);
      if (!isJsonObject(keys)) throw new TypeError(`invalid key path element ${text}`);
      return keyElement(new Map(Object.entries(keys)));
    }
    case 'v:':
      return valueElement(parse(text, rest));
    case 'i:':
      if (/^-?\d+$/.test(rest)) return text;
      throw new TypeError(`invalid index path element ${text}`);
    default:
      throw new TypeError(`unknown path element ${text}`);
  }
}

function parse(element: string, json: string): unknown {
  try {
    return parseJson(json);
  } catch (error) {
    throw new TypeError(`invalid path element ${element}`, { cause: error });
  }
}

/** `.spec.containers[name="a"].image`, as in messages. */
export function formatPath(path: FieldPath): string {
  return path.map(formatElement).join('');
}

/** `.image`, `[name="a"]`, `[="x"]`, `[0]`. */
export function formatElement(element: PathElement): string {
  const rest = element.slice(2);
  switch (element[0]) {
    case 'k': {
      const keys = Object.entries(parseJson(rest) as object);
      return `[${keys.map(([name, value]) => `${name}=${stringifyJson(value)}`).join(',')}]`;
    }
    case 'v':
      return `[=${rest}]`;
    case 'i':
      return `[${rest}]`;
    default:
      return `.${rest}`;
  }
}

const kinds = ['f', 'k', 'v', 'i'];

/** Order in FieldsV1: fields, then items by key, by value, by place. */
export function comparePathElements(a: PathElement, b: PathElement): number {
  const kind = a.charAt(0);
  if (kind !== b.charAt(0)) return kinds.indexOf(kind) - kinds.indexOf(b.charAt(0));
  return a < b ? -1 : a > b ? 1 : 0;
}
