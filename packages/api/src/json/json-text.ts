// parseText: JSON.parse, right also where the engine is not. Used by json.ts and by the readers of request bodies.
//
// V8 of Node 24 and 26 guesses the next name of an object from objects before it, and compares its guess with the text as it is
// written. After {"a":0,"\\":1} it takes the name in {"a":0,"\n":1} for a backslash. A wrong guess needs a name that has a backslash in
// it, which hardly anybody sends, so texts are read with care from the first such name on.

// A new secret in each process, so that no name of a user can pass for a mark.
const secret = `\uE001${Math.random().toString(36).slice(2)}`;

/** Whether the engine guesses wrong. The secret is a name that it has not met. */
const guessesWrong = ((): boolean => {
  JSON.parse(`{"${secret}":0,"\\\\":1}`);
  return Object.hasOwn(JSON.parse(`{"${secret}":0,"\\n":1}`) as object, '\\');
})();

// Strings in runs of plain characters: one step a character would exhaust the stack on long ones.
const strings = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g;
const backslash = /\\(?:\\|u005[cC])/;

let hasMetBackslash = false;
let marks = 0;

/** As JSON.parse without a reviver. Throws SyntaxError. */
export function parseText(text: string): unknown {
  if (!guessesWrong || !text.includes('\\')) return JSON.parse(text);
  hasMetBackslash ||= backslash.test(text) && namesWithEscapes(text).some((name) => backslash.test(name));
  return hasMetBackslash ? parseMarked(text) : JSON.parse(text);
}

function namesWithEscapes(text: string): string[] {
  const found = Array.from(text.matchAll(strings), ([name, colon]) => (colon === undefined ? '' : name));
  return found.filter((name) => name.includes('\\'));
}

/** Names with an escape begin with a mark while the engine reads them. It has met none of the same mark, so it cannot guess. */
export function parseMarked(text: string): unknown {
  const mark = `${secret}${marks++}:`;
  let isMarked = false;
  const marked = text.replace(strings, (found, colon: string | undefined) => {
    if (colon === undefined || !found.includes('\\')) return found;
    isMarked = true;
    return `"${mark}${found.slice(1)}`;
  });
  return isMarked ? unmarked(JSON.parse(marked), mark) : JSON.parse(text);
}

function unmarked(value: unknown, mark: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => unmarked(item, mark));
  const members = Object.entries(value).map(([name, member]) => [
    name.startsWith(mark) ? name.slice(mark.length) : name,
    unmarked(member, mark),
  ]);
  return Object.fromEntries(members) as unknown;
}
