// Resolves the fieldPath of a rule: a JSON path of names below the rule's place. Source: apiextensions schema/cel
// ValidFieldPath.
import { hasProperties, propertyOf, type RuleSchema } from './rule-schema.ts';

/** Returns the path as errors show it (`spec.labels[app]`), or undefined when the schema has no such path. */
export function resolveFieldPath(jsonPath: string, schema: RuleSchema): string | undefined {
  const tokens = fieldPathTokens(jsonPath);
  let place: Place | undefined = { path: '', schema };
  for (let at = 0; at < tokens.length; ) {
    const isBracket = tokens[at] === '[';
    if (!isBracket && tokens[at] !== '.') return undefined;
    const name = isBracket ? quotedName(tokens[at + 1]) : tokens[at + 1];
    if (name === undefined || (isBracket && tokens[at + 2] !== ']')) return undefined;
    place = below(place, name);
    if (place === undefined) return undefined;
    at += isBracket ? 3 : 2;
  }
  return place.path;
}

interface Place {
  readonly path: string;
  /** Undefined below values without a schema. */
  readonly schema: RuleSchema | undefined;
}

function below({ path, schema }: Place, name: string): Place | undefined {
  if (schema === undefined) return undefined;
  if (hasProperties(schema)) {
    const property = propertyOf(schema, name);
    return property && { path: path === '' ? name : `${path}.${name}`, schema: property };
  }
  const { additionalProperties: values } = schema;
  if (values === undefined || values === null) return undefined;
  return { path: `${path}[${name}]`, schema: typeof values === 'object' ? (values as RuleSchema) : undefined };
}

/** Returns dots, brackets, quoted names with their quotes, and the texts between them. */
export function fieldPathTokens(jsonPath: string): readonly string[] {
  return jsonPath.match(/[.[\]]|'(?:[^']|(?<=\\)')*'?|[^.[\]][^.[\]]*/gs) ?? [];
}

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
};

function quotedName(token: string | undefined): string | undefined {
  if (token === undefined || token.length < 2 || !token.startsWith("'") || !token.endsWith("'")) return undefined;
  let isValid = true;
  const name = token.slice(1, -1).replace(/\\./g, (mark) => {
    const text = escapes[mark.slice(1)];
    if (text === undefined) isValid = false;
    return text ?? '';
  });
  return isValid ? name : undefined;
}
