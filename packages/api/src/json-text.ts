// parseText: JSON.parse, right also where the engine is not. V8 of Node 26.10 reads a name of one character that is written as an
// escape ("\n" or "\u0061") as a backslash, unless it is the first member. Used by json.ts and by the readers of request bodies.

const isMisread = Object.keys(JSON.parse('{"a":0,"\\n":1}') as object).at(-1) !== '\n';

const shortName = /"\\(?:u[0-9a-fA-F]{4}|.)"\s*:/;
// Strings in runs of plain characters: one step a character would exhaust the stack on long ones.
const strings = /"[^"\\]*(?:\\.[^"\\]*)*"(?:\s*:)?/g;
// A new secret in each process, so that no name of a user can pass for a mark.
const mark = `\uE001${Math.random().toString(36).slice(2)}:`;

/** As JSON.parse without a reviver. Throws SyntaxError. */
export function parseText(text: string): unknown {
  if (!isMisread || !shortName.test(text)) return JSON.parse(text);
  return parseMarked(text);
}

/** {@link parseText} for an engine that misreads short names: they are made longer, and short again in what was read. */
export function parseMarked(text: string): unknown {
  const marked = text.replace(strings, (found) => (shortName.test(found) ? `"${mark}${found.slice(1)}` : found));
  return unmarked(JSON.parse(marked));
}

function unmarked(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(unmarked);
  const entries = Object.entries(value).map(([name, member]) => [withoutMark(name), unmarked(member)]);
  return Object.fromEntries(entries) as unknown;
}

function withoutMark(name: string): string {
  return name.startsWith(mark) ? name.slice(mark.length) : name;
}
