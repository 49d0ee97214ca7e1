// One step of a path to a field, as its text in FieldsV1: f:name, k:{"name":"a"}, v:"x", i:0. Used by field-set.ts and
// all code that walks objects together with their sets.

import { parseJson, stringifyJson } from '@kapstan/api';
import { goQuote, isJsonObject } from '@kapstan/api/internal';
import { formatGoValue } from '../schema/go/go-types.ts';

/** A step in its only canonical spelling, so that equal steps are equal texts. */
export type PathElement = string;
export type FieldPath = readonly PathElement[];

/** Steps by field name. The same few names occur in every object, and a kept text need not be hashed again. */
const fieldElements = new Map<string, PathElement>();
const maxFieldElements = 10_000;
// Longest name kept. Names in schemas are shorter, but a key of user data can be as long as its body. V8 copies names
// of members, so a kept one does not hold its body.
const maxKeptLength = 64;

/** Returns the step to a member of a map or struct. */
export function fieldElement(name: string): PathElement {
  const known = fieldElements.get(name);
  if (known !== undefined) return known;
  const element = `f:${name}`;
  if (name.length > maxKeptLength) return element;
  // Names in data and labels are endless, so the map is emptied when full.
  if (fieldElements.size >= maxFieldElements) fieldElements.clear();
  fieldElements.set(name, element);
  return element;
}

/** Returns the name of a member, or undefined for another kind of step. */
export function fieldNameOf(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

/** Returns the step to an item of a list of maps, by its keys. */
export function keyElement(keys: ReadonlyMap<string, unknown>): PathElement {
  const names = [...keys.keys()].sort();
  return `k:{${names.map((name) => `${stringifyJson(name)}:${stringifyJson(keys.get(name))}`).join(',')}}`;
}

/** Returns the step to an item of a set, by its value. */
export function valueElement(value: unknown): PathElement {
  return `v:${stringifyJson(value)}`;
}

/** Returns the step to an item of an atomic list, by its index; for error texts only. */
export function indexElement(index: number): PathElement {
  return `i:${index}`;
}

const simpleValue = '(?:"[^"\\\\\\u0000-\\u001f]*"|0|-?[1-9]\\d{0,14}|true|false)';
const simpleMember = `"([\\w.-]+)":${simpleValue}`;
/** Matches steps that servers usually write, which are canonical as they are. */
const canonicalStep = new RegExp(`^(?:v:${simpleValue}|k:\\{${simpleMember}(?:,${simpleMember})?\\})$`);

/** Returns the canonical spelling of a step from a client. Throws TypeError when it is malformed. */
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

/** Formats a path for messages: `.spec.containers[name="a"].image`. */
export function formatPath(path: FieldPath): string {
  return path.map(formatElement).join('');
}

/** Formats one step: `.image`, `[name="a"]`, `[="x"]`, `[0]`. */
export function formatElement(element: PathElement): string {
  const rest = element.slice(2);
  switch (element[0]) {
    case 'k': {
      const keys = Object.entries(parseJson(rest) as object);
      return `[${keys.map(([name, value]) => `${name}=${formatValue(value)}`).join(',')}]`;
    }
    case 'v':
      return `[=${formatValue(parseJson(rest))}]`;
    case 'i':
      return `[${rest}]`;
    default:
      return `.${rest}`;
  }
}

/** Formats a value as structured-merge-diff's value.ToString does: maps have neither braces nor separators. */
function formatValue(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return goQuote(value);
  if (Array.isArray(value)) return `[${value.map(formatValue).join(',')}]`;
  if (!isJsonObject(value)) return formatGoValue(value);
  return Object.entries(value)
    .map(([name, member]) => `${name}=${formatValue(member)}`)
    .join('');
}

const kinds = ['f', 'k', 'v', 'i'];

/** Compares steps in the order of FieldsV1: fields, then items by key, by value, by index. */
export function comparePathElements(a: PathElement, b: PathElement): number {
  const kind = a.charAt(0);
  if (kind !== b.charAt(0)) return kinds.indexOf(kind) - kinds.indexOf(b.charAt(0));
  return a < b ? -1 : a > b ? 1 : 0;
}
