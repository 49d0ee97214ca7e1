// Converts names of properties to identifiers of expressions: `a-b` becomes `a__dash__b`, and `in` becomes `__in__`.
// Source: apiserver pkg/cel/escaping.go.

/** Words that the language reserves. After a dot most of them may be written as they are. */
export const reservedWords: ReadonlySet<string> = new Set([
  ...['true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import'],
  ...['let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while'],
]);

const marks: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};
const marked: ReadonlyMap<string, string> = new Map(
  Object.entries(marks).map(([text, mark]) => [mark.slice(2, -2), text] as const),
);

/** Returns the identifier of a property, or undefined when its name has characters without an escape. */
export function escapeName(name: string): string | undefined {
  if (reservedWords.has(name)) return `__${name}__`;
  if (/^[a-zA-Z_]\w*$/.test(name) && !name.includes('__')) return name;
  if (!/^[a-zA-Z_./-][\w./-]*$/.test(name)) return undefined;
  return name.replace(/__|[-./]/g, (text) => marks[text] ?? text);
}

/** Returns the name of an identifier, or undefined when it contains an unknown escape. */
export function unescapeName(identifier: string): string | undefined {
  if (!identifier.includes('__')) return identifier;
  let isValid = true;
  const name = identifier.replace(/__([^_]+)__/g, (whole, word: string) => {
    const text = marked.get(word);
    if (text !== undefined) return text;
    if (!reservedWords.has(word) || whole.length !== identifier.length) isValid = false;
    return word;
  });
  return isValid ? name : undefined;
}
