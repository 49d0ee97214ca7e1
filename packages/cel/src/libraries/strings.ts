// The library of strings. Positions count code points.
import type { Library } from '../environment/library.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  memberOverload,
  oneOverload,
} from '../types/function-declaration.ts';
import { type AnyList, listItems } from '../values/cel-list.ts';
import { codePointCount, codePointSlice } from '../values/code-points.ts';
import { CelFailure } from '../values/failure.ts';
import { formatValue } from '../values/format-value.ts';
import type { Int } from '../values/integers.ts';
import { formatString } from './format-string.ts';
import { indexOfPart, lastIndexOfPart } from './string-search.ts';

/** Maximum length of the texts that these functions make, in UTF-16 units. Go would fill the memory instead. */
const maxTextSize = 1 << 28;
const tooLong = new CelFailure(`texts longer than ${maxTextSize} are not supported`);

function outOfRange(index: Int): CelFailure {
  return new CelFailure(`index out of range: ${index}`);
}

function charAt(text: string, index: Int): unknown {
  if (index < 0 || index > codePointCount(text)) return outOfRange(index);
  return codePointSlice(text, Number(index), Number(index) + 1);
}

function substring(text: string, start: Int, end?: Int): unknown {
  if (end !== undefined && start > end) return new CelFailure(`invalid substring range. start: ${start}, end: ${end}`);
  const count = codePointCount(text);
  for (const index of [start, end ?? start]) {
    if (index < 0 || index > count) return outOfRange(index);
  }
  return codePointSlice(text, Number(start), Number(end ?? count));
}

const lowerAscii = (text: string): string => text.replace(/[A-Z]+/g, (part) => part.toLowerCase());
const upperAscii = (text: string): string => text.replace(/[a-z]+/g, (part) => part.toUpperCase());

/** White space as defined by Go's unicode.IsSpace. */
const space = '[\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+';
const spaceAround = new RegExp(`^${space}|${space}$`, 'g');

function trim(text: string): string {
  return text.replace(spaceAround, '');
}

function replace(text: string, before: string, ...[after, limit = -1]: [after: string, limit?: Int]): unknown {
  const count = limit < 0 ? Number.POSITIVE_INFINITY : Number(limit);
  const parts = splitText(text, before, count + 1);
  const added = (parts.length - 1) * after.length + (before === '' ? 2 * after.length : 0);
  if (text.length + added > maxTextSize) return tooLong;
  return before === '' ? replaceAround(parts, after, count) : parts.join(after);
}

/** The empty text occurs before every character and at the end. */
function replaceAround(parts: readonly string[], after: string, count: number): string {
  if (count === 0) return parts.join('');
  const points = parts.flatMap((part) => Array.from(part));
  const found = Math.min(count, points.length + 1);
  const replaced = points.map((point, i) => (i < found ? after + point : point)).join('');
  return found > points.length ? replaced + after : replaced;
}

/** Splits into at most `limit` parts; the last one contains the rest. */
function splitText(text: string, separator: string, limit: number): string[] {
  const all = separator === '' ? Array.from(text) : text.split(separator);
  if (all.length <= limit) return all;
  return [...all.slice(0, limit - 1), all.slice(limit - 1).join(separator)];
}

function split(text: string, separator: string, limit: Int = -1): unknown {
  if (Number(limit) === 0) return [];
  return splitText(text, separator, limit < 0 ? Number.POSITIVE_INFINITY : Number(limit));
}

function join(list: AnyList, separator = ''): unknown {
  let size = 0;
  const items = listItems(list);
  for (const item of items) {
    if (typeof item !== 'string') return new CelFailure(`join: invalid input: ${formatValue(item)}`);
    size += item.length + separator.length;
    if (size > maxTextSize) return tooLong;
  }
  return items.join(separator);
}

const quoteEscapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

function quote(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped.
  return `"${text.replace(/[\x07\b\f\n\r\t\v\\"]/g, (char) => quoteEscapes[char] ?? char)}"`;
}

const firstFunctions: readonly FunctionDeclaration[] = [
  oneOverload('charAt', memberOverload('string_char_at_int', 'string, int -> string', charAt)),
  {
    name: 'indexOf',
    overloads: [
      memberOverload('string_index_of_string', 'string, string -> int', (text, part) => indexOfPart(text, part, 0)),
      memberOverload('string_index_of_string_int', 'string, string, int -> int', indexOfPart),
    ],
  },
  {
    name: 'lastIndexOf',
    overloads: [
      memberOverload('string_last_index_of_string', 'string, string -> int', (text, part) =>
        lastIndexOfPart(text, part),
      ),
      memberOverload('string_last_index_of_string_int', 'string, string, int -> int', lastIndexOfPart),
    ],
  },
  oneOverload('lowerAscii', memberOverload('string_lower_ascii', 'string -> string', lowerAscii)),
  {
    name: 'replace',
    overloads: [
      memberOverload('string_replace_string_string', 'string, string, string -> string', replace),
      memberOverload('string_replace_string_string_int', 'string, string, string, int -> string', replace),
    ],
  },
  {
    name: 'split',
    overloads: [
      memberOverload('string_split_string', 'string, string -> list(string)', split),
      memberOverload('string_split_string_int', 'string, string, int -> list(string)', split),
    ],
  },
  {
    name: 'substring',
    overloads: [
      memberOverload('string_substring_int', 'string, int -> string', substring),
      memberOverload('string_substring_int_int', 'string, int, int -> string', substring),
    ],
  },
  oneOverload('trim', memberOverload('string_trim', 'string -> string', trim)),
  oneOverload('upperAscii', memberOverload('string_upper_ascii', 'string -> string', upperAscii)),
  {
    name: 'join',
    overloads: [
      memberOverload('list_join', 'list(string) -> string', join),
      memberOverload('list_join_string', 'list(string), string -> string', join),
    ],
  },
];

const laterFunctions: readonly FunctionDeclaration[] = [
  oneOverload('format', memberOverload('string_format', 'string, list(dyn) -> string', formatString)),
  oneOverload('strings.quote', globalOverload('strings_quote', 'string -> string', quote)),
];

/** The first version, until Kubernetes 1.28. */
export const stringsLibrary: Library = { name: 'strings', functions: firstFunctions };

/** The second version, which has `format` and `strings.quote`. */
export const stringsLibraryV2: Library = { name: 'strings', functions: [...firstFunctions, ...laterFunctions] };
