// Checks the values of a custom resource against its schema, with kube-apiserver's texts. A schema is compiled into
// functions once. Source: kube-openapi pkg/validation/validate. Pruning and defaults are elsewhere.
import { ExactNumber } from '@kapstan/api';
import {
  duplicateField,
  type FieldError,
  fieldIndex,
  invalidField,
  requiredField,
  tooLongField,
  tooManyField,
  typeInvalidField,
} from '@kapstan/api/errors';
import { getOwn, isJsonObject, notSupportedFieldOf, parseInt64 } from '@kapstan/api/internal';
import { combinationChecks } from './combination-checks.ts';
import { CorrelatedObject } from './correlated-object.ts';
import { distinctErrors, ErrorCollector, joinedErrors } from './error-collector.ts';
import { isKnownFormat, isOfFormat } from './formats/string-formats.ts';
import { KeyedItems } from './keyed-items.ts';
import { numberChecks } from './number-checks.ts';
import { compilePattern } from './pattern.ts';
import { sortedValue } from './sorted-value.ts';
import type { JsonSchema } from './structural-schema.ts';
import type { ValueValidator } from './value-validator.ts';

/**
 * Compiles a schema; schemas of members and items are compiled for their first value. Throws SyntaxError, now or later,
 * for a pattern that is not an RE2 expression.
 */
export function compileValidator(schema: JsonSchema): ValueValidator {
  const combinations = combinationChecks(schema, compileValidator);
  const enums = enumCheck(schema);
  const checks = [
    typeCheck(schema),
    ...combinations,
    ...stringChecks(schema),
    ...numberChecks(schema),
    ...arrayChecks(schema),
    ...enums,
    ...objectChecks(schema),
  ];
  return (value, path, old) => {
    // Even where null is allowed, an enum has to list it.
    if (value === null && schema.nullable === true) return enums.flatMap((check) => [...check(value, path, old)]);
    let errors: readonly FieldError[] = [];
    for (const check of checks) errors = joinedErrors(errors, check(value, path, old));
    if (combinations.length > 0) errors = distinctErrors(errors);
    // The schema may have become stricter since the value was written, so unchanged values pass. Source: KEP 4008, CRD
    // validation ratcheting.
    const isForgiven = errors.length > 0 && old !== undefined && new CorrelatedObject(value, old, schema).isUnchanged;
    return isForgiven ? [] : errors;
  };
}

/** Returns the JSON type of a value as the messages name it. */
function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (value instanceof ExactNumber) return parseInt64(value.text) !== undefined ? 'integer' : 'number';
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? 'integer' : 'number';
  return typeof value === 'object' ? 'object' : typeof value;
}

/** Returns a place as messages name it: "spec.count in body". */
const inBody = (path: string): string => `${path} in body`;

/** Returns the format that corresponds to Go's type of a value. */
function goFormat(name: string): string {
  if (name === 'integer') return 'int64';
  return name === 'number' ? 'float64' : '';
}

function typeCheck(schema: JsonSchema): ValueValidator {
  const allowed =
    schema['x-kubernetes-int-or-string'] === true
      ? ['integer', 'string']
      : typeof schema.type === 'string'
        ? [schema.type]
        : [];
  const format = typeof schema.format === 'string' ? schema.format : '';
  return (value, path) => {
    const name = typeName(value);
    const isAllowed =
      allowed.length === 0
        ? !isOtherFormat(value, name, format)
        : allowed.includes(name) || (name === 'integer' && allowed.includes('number'));
    if (!isAllowed)
      return isLeftToFormat(name, { allowed, format }) ? [] : [wrongType(path, name, { allowed, format })];
    if (typeof value !== 'string' || isOfFormat(value, format)) return [];
    return [typeInvalidField(path, value, `${inBody(path)} must be of type ${format}: ${JSON.stringify(value)}`)];
  };
}

/** A format without a type refuses all values but texts and lists. */
function isOtherFormat(value: unknown, name: string, format: string): boolean {
  if (value === null || name === 'string' || name === 'array') return false;
  return (isKnownFormat(format) || numberFormats.has(format)) && goFormat(name) !== format;
}

const numberFormats: ReadonlySet<string> = new Set(['int32', 'int64', 'float', 'double']);

interface ExpectedType {
  readonly allowed: readonly string[];
  readonly format: string;
}

/** Lists pass the check of a format, which applies only to text. */
function isLeftToFormat(name: string, { allowed, format }: ExpectedType): boolean {
  if (name !== 'array' && name !== 'string') return false;
  const hasFormat = isKnownFormat(format) || numberFormats.has(format);
  return hasFormat && !allowed.includes('number') && !allowed.includes('integer');
}

/** Reports a value by its format, if there is one, unless it is text, a list or null. Source: typeValidator.Validate. */
function wrongType(path: string, name: string, { allowed, format }: ExpectedType): FieldError {
  const isByFormat =
    allowed.length < 2 &&
    (isKnownFormat(format) || numberFormats.has(format)) &&
    !['string', 'array', 'null'].includes(name);
  const [expected, found] = isByFormat ? [format, goFormat(name)] : [allowed.join(','), name];
  return typeInvalidField(path, found, `${inBody(path)} must be of type ${expected}: ${JSON.stringify(found)}`);
}

function stringChecks(schema: JsonSchema): readonly ValueValidator[] {
  const { minLength, maxLength, pattern } = schema;
  const checks: ((text: string, path: string) => FieldError[])[] = [];
  // Lengths are in characters, although kube-apiserver's text in tooLongField says bytes.
  if (typeof maxLength === 'number') {
    checks.push((text, path) => (length(text) > maxLength ? [tooLongField(path, maxLength)] : []));
  }
  if (typeof minLength === 'number') {
    const detail = (path: string): string => `${inBody(path)} should be at least ${minLength} chars long`;
    checks.push((text, path) => (length(text) < minLength ? [invalidField(path, text, detail(path))] : []));
  }
  if (typeof pattern === 'string' && pattern !== '') {
    const matches = compilePattern(pattern);
    checks.push((text, path) =>
      matches(text) ? [] : [invalidField(path, text, `${inBody(path)} should match '${pattern}'`)],
    );
  }
  if (checks.length === 0) return [];
  // A string gets one error: too long, too short, then the pattern.
  return [(value, path) => (typeof value === 'string' ? (firstErrors(checks, value, path) ?? []) : [])];
}

function firstErrors(
  checks: readonly ((text: string, path: string) => FieldError[])[],
  text: string,
  path: string,
): FieldError[] | undefined {
  for (const check of checks) {
    const errors = check(text, path);
    if (errors.length > 0) return errors;
  }
  return undefined;
}

function length(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (!isSecondOfPair(text, at)) count += 1;
  return count;
}

/** True for the second half of a surrogate pair. */
function isSecondOfPair(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 0xdc00 || code > 0xdfff || at === 0) return false;
  const before = text.charCodeAt(at - 1);
  return before >= 0xd800 && before <= 0xdbff;
}

function enumCheck(schema: JsonSchema): readonly ValueValidator[] {
  const { enum: values } = schema;
  if (!Array.isArray(values)) return [];
  let allowed: ReadonlySet<string> | undefined;
  const notSupported = notSupportedFieldOf(() =>
    values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
  );
  return [
    (value, path) => {
      allowed ??= new Set(values.map(canonical));
      // Go converts a value to the type of the enum's before it compares them: 1.5 is 1.
      const isAllowed =
        allowed.has(canonical(value)) || (typeof value === 'number' && allowed.has(String(Math.trunc(value))));
      return isAllowed ? [] : [notSupported(path, sortedValue(value))];
    },
  ];
}

function arrayChecks(schema: JsonSchema): readonly ValueValidator[] {
  const { minItems, maxItems, items } = schema;
  const checkItem = isJsonObject(items) ? lazyValidator(items) : () => [];
  const listKeys = listTypeKeys(schema);
  const check = (list: readonly unknown[], path: string, old: unknown): readonly FieldError[] => {
    const found = new ErrorCollector();
    const before = new KeyedItems(schema, Array.isArray(old) ? old : []);
    list.forEach((item, index) => {
      found.addAll(checkItem(item, fieldIndex(path, index), before.find(item)));
    });
    const errors: FieldError[] = [];
    if (typeof minItems === 'number' && list.length < minItems) {
      errors.push(invalidField(path, list.length, `${inBody(path)} should have at least ${minItems} items`));
    }
    if (typeof maxItems === 'number' && list.length > maxItems) errors.push(tooManyField(path, list.length, maxItems));
    if (schema.uniqueItems === true && hasDuplicates(list)) {
      errors.push(invalidField(path, '', `${inBody(path)} shouldn't contain duplicates`));
    }
    found.addAll(errors);
    if (listKeys !== undefined) addDuplicates(found, list, { keys: listKeys, path });
    return found.toList();
  };
  return [(value, path, old) => (Array.isArray(value) ? check(value, path, old) : [])];
}

/** Returns the keys that identify the items of a list: none for a set; undefined for an atomic list. */
function listTypeKeys(schema: JsonSchema): readonly string[] | undefined {
  const listType = schema['x-kubernetes-list-type'];
  if (listType === 'set') return [];
  return listType === 'map' ? ((schema['x-kubernetes-list-map-keys'] as string[] | undefined) ?? []) : undefined;
}

function hasDuplicates(list: readonly unknown[]): boolean {
  return new Set(list.map(canonical)).size < list.length;
}

/** Source: apiextensions listtype.ValidateListSetsAndMaps. */
function addDuplicates(
  found: ErrorCollector,
  list: readonly unknown[],
  at: { readonly keys: readonly string[]; readonly path: string },
): void {
  const seen = new Map<string, number>();
  const stranger = at.keys.length === 0 ? -1 : list.findIndex((item) => item !== null && !isJsonObject(item));
  if (stranger >= 0) {
    const text = 'must be an object for an array of list-type map';
    found.add(invalidField(fieldIndex(at.path, stranger), list[stranger], text));
    return;
  }
  list.forEach((item, index) => {
    const identity = at.keys.length === 0 ? item : keyValues(item, at.keys);
    const text = canonical(identity);
    const count = (seen.get(text) ?? 0) + 1;
    seen.set(text, count);
    // Each duplicated value is reported once, at its second place.
    if (count === 2) found.add(duplicateField(fieldIndex(at.path, index), sortedValue(identity)));
  });
}

function keyValues(item: unknown, keys: readonly string[]): Record<string, unknown> {
  const entries = isJsonObject(item)
    ? keys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, getOwn(item, key)] as const)
    : [];
  return Object.fromEntries(entries);
}

/** Returns JSON with sorted keys: equal texts for equal values. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isJsonObject(value)) return value instanceof ExactNumber ? value.text : JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join(',')}}`;
}

function objectChecks(schema: JsonSchema): readonly ValueValidator[] {
  const { minProperties, maxProperties, required } = schema;
  const members = memberChecks(schema);
  const embedded = schema['x-kubernetes-embedded-resource'] === true ? ['apiVersion', 'kind'] : [];
  const needed = [...new Set([...(Array.isArray(required) ? (required as string[]) : []), ...embedded])];
  const check = (object: Record<string, unknown>, path: string): FieldError[] => {
    const errors: FieldError[] = [];
    const size = Object.keys(object).length;
    if (typeof minProperties === 'number' && size < minProperties) {
      errors.push(invalidField(path, size, `${inBody(path)} should have at least ${minProperties} properties`));
    }
    if (typeof maxProperties === 'number' && size > maxProperties) errors.push(tooManyField(path, size, maxProperties));
    for (const key of needed) if (!Object.hasOwn(object, key)) errors.push(requiredField(child(path, key)));
    return errors;
  };
  const checkMembers = (object: Record<string, unknown>, path: string, old: unknown): readonly FieldError[] => {
    const found = new ErrorCollector();
    for (const key of Object.keys(object)) {
      // Kind and version are not compared, because old and new object have the same ones, whatever was stored. Source:
      // isTypeMetaField.
      const isKind = path === '' && (key === 'apiVersion' || key === 'kind');
      const before = isJsonObject(old) && !isKind ? getOwn(old, key) : undefined;
      found.addAll(members(key)?.(object[key], child(path, key), before) ?? []);
    }
    return found.toList();
  };
  return [
    (value, path, old) => (isJsonObject(value) ? joinedErrors(check(value, path), checkMembers(value, path, old)) : []),
  ];
}

/**
 * Returns the validator of a member if its schema has rules. It is compiled on first use, because definitions are large
 * and objects are not.
 */
function memberChecks(schema: JsonSchema): (key: string) => ValueValidator | undefined {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const rest = isJsonObject(schema.additionalProperties) ? lazyValidator(schema.additionalProperties) : undefined;
  const compiled = new Map<string, ValueValidator>();
  return (key) => {
    if (!Object.hasOwn(properties, key)) return rest;
    const known = compiled.get(key) ?? compileValidator(properties[key] as JsonSchema);
    compiled.set(key, known);
    return known;
  };
}

function lazyValidator(schema: JsonSchema): ValueValidator {
  let compiled: ValueValidator | undefined;
  return (value, path, old) => {
    compiled ??= compileValidator(schema);
    return compiled(value, path, old);
  };
}

/** Appends a member's name; the path "" is the object itself. */
function child(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
