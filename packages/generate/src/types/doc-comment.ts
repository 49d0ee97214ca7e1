// Doc comments of generated types: the description, and all demands of a schema that a type cannot express.
import { isJsonObject, type JsonObject } from '../source/json-object.ts';

/** Returns a doc comment of these paragraphs with its indentation; "" when they are empty. */
export function docComment(paragraphs: readonly (readonly string[])[], indent: string): string {
  const text = paragraphs
    .map((lines) => withoutLastBlanks(lines.map((line) => line.replaceAll('*/', '*\\/').trimEnd())))
    .filter((lines) => lines.length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
  if (text.length === 0) return '';
  if (text.length === 1) return `${indent}/** ${text[0]} */\n`;
  return `${indent}/**\n${text.map((line) => `${indent} *${line === '' ? '' : ` ${line}`}\n`).join('')}${indent} */\n`;
}

function withoutLastBlanks(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1);
}

export function descriptionOf(schema: JsonObject): readonly string[] {
  const { title, description } = schema;
  return [title, description].flatMap((text) => (typeof text === 'string' && text !== '' ? text.split('\n') : []));
}

/**
 * Returns the demands of a schema beyond its type, for people: defaults, limits, rules, lists. `what` distinguishes items from their list.
 */
export function demandsOf(schema: JsonObject, what = ''): readonly string[] {
  const lines = [...valuesOf(schema), ...listsOf(schema), ...rulesOf(schema), ...alternativesOf(schema)];
  return what === '' ? lines : lines.map((line) => `${what}: ${line}`);
}

const limits = [
  'format',
  'minimum',
  'maximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
];

function valuesOf(schema: JsonObject): readonly string[] {
  const lines: string[] = [];
  if (schema.default !== undefined) lines.push(`@default ${JSON.stringify(schema.default)}`);
  if (schema.example !== undefined) lines.push(`@example ${JSON.stringify(schema.example)}`);
  const said = limits.flatMap((word) => (schema[word] === undefined ? [] : [`${word} ${limitText(schema, word)}`]));
  if (said.length > 0) lines.push(`Limits: ${said.join(', ')}.`);
  const { externalDocs } = schema;
  if (isJsonObject(externalDocs))
    lines.push(`@see ${[externalDocs.url, externalDocs.description].filter(Boolean).join(' ')}`);
  return lines;
}

function limitText(schema: JsonObject, word: string): string {
  const isExclusive =
    (word === 'minimum' && schema.exclusiveMinimum === true) ||
    (word === 'maximum' && schema.exclusiveMaximum === true);
  const value = word === 'pattern' || word === 'format' ? code(String(schema[word])) : JSON.stringify(schema[word]);
  return isExclusive ? `${value} (exclusive)` : value;
}

function listsOf(schema: JsonObject): readonly string[] {
  const lines: string[] = [];
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'];
  if (listType === 'map' && Array.isArray(keys))
    lines.push(`The items are merged by their ${keys.map((key) => code(String(key))).join(' and ')}.`);
  if (listType === 'set') lines.push('Each item may occur once.');
  if (listType === 'atomic') lines.push('Replaced as a whole by an apply.');
  if (schema['x-kubernetes-map-type'] === 'atomic') lines.push('Replaced as a whole by an apply.');
  if (schema['x-kubernetes-embedded-resource'] === true)
    lines.push('An object of any kind; the server checks its apiVersion, kind and metadata.');
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) lines.push('Unknown fields are kept.');
  return lines;
}

function rulesOf(schema: JsonObject): readonly string[] {
  const rules = schema['x-kubernetes-validations'];
  if (!Array.isArray(rules)) return [];
  return rules.filter(isJsonObject).map((rule) => {
    const {
      messageExpression,
      message = messageExpression === undefined ? undefined : `(${String(messageExpression)})`,
    } = rule;
    const text = code(
      String(rule.rule)
        .trim()
        .replaceAll(/\s*\n\s*/g, ' '),
    );
    return `Rule: ${text}${message === undefined ? '' : `, else: ${String(message).replaceAll('\n', ' ')}`}`;
  });
}

/** Alternatives are not in the type, because their parts are not types, so the whole keyword is quoted. */
function alternativesOf(schema: JsonObject): readonly string[] {
  return ['allOf', 'anyOf', 'oneOf', 'not'].flatMap((word) => {
    if (schema[word] === undefined || isIntOrString(schema, word)) return [];
    return [`Not in the type: ${word} ${JSON.stringify(schema[word])}`];
  });
}

const isIntOrString = (schema: JsonObject, word: string): boolean =>
  word === 'anyOf' &&
  schema['x-kubernetes-int-or-string'] === true &&
  JSON.stringify(schema.anyOf) === '[{"type":"integer"},{"type":"string"}]';

/** Quotes code; a text with backquotes gets two of them. */
function code(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}
