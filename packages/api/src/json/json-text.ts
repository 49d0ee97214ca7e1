// parseText is JSON.parse without an error of the engine. Used by json.ts and by the readers of request bodies.
//
// V8 of Node 24 and 26 guesses the next name of an object from earlier objects and compares its guess with the text as
// written. After {"a":0,"\\":1} it reads the name in {"a":0,"\n":1} as a backslash. A wrong guess needs a name with a
// backslash, which hardly anybody sends, so only texts with such a name are read carefully, starting at that name.

// A new secret in each process, so that no user can choose a name that looks like a mark.
const secret = `\uE001${Math.random().toString(36).slice(2)}`;

/**
 * True when the engine has the fault: it guesses a member's name from an earlier text and guesses wrong. The secret is
 * a name that it has not seen.
 */
const guessesWrong = ((): boolean => {
  JSON.parse(`{"${secret}":0,"\\\\":1}`);
  return Object.hasOwn(JSON.parse(`{"${secret}":0,"\\n":1}`) as object, '\\');
})();

// Matches strings by runs of plain characters: one step per character would exhaust the stack on long ones.
const strings = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g;
const backslash = /\\(?:\\|u005[cC])/;

let hasMetBackslash = false;
let marks = 0;

/** Does what JSON.parse does without a reviver. Throws SyntaxError. */
export function parseText(text: string): unknown {
  if (!guessesWrong || !text.includes('\\')) return JSON.parse(text);
  hasMetBackslash ||= backslash.test(text) && namesWithEscapes(text).some((name) => backslash.test(name));
  return hasMetBackslash ? parseMarked(text) : JSON.parse(text);
}

function namesWithEscapes(text: string): string[] {
  const found = Array.from(text.matchAll(strings), ([name, colon]) => (colon === undefined ? '' : name));
  return found.filter((name) => name.includes('\\'));
}

/**
 * Marks names with an escape while the engine reads them. No earlier name has the same mark, so the engine cannot
 * guess.
 */
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
