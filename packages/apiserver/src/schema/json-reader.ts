// Reads JSON of clients with the engine's own parser and one pass over the text for details that the parser hides
// (repeated names, spelling of numbers, depth). Texts with such details are read again by api/src/json/json-syntax.ts.
import {
  endOfJsonString,
  type JsonLimits,
  type JsonNumbers,
  JsonSyntaxError,
  type MemberList,
  maxJsonDepth,
  parseText,
  readJsonInSlices,
  readJsonSlowly,
  type SlicedWork,
} from '@kapstan/api/internal';

const noRepeats: ReadonlyMap<object, MemberList> = new Map();

/** A parsed text. Used by typed-decoder.ts and the patches. */
export interface JsonDocument {
  readonly value: unknown;
  /** Objects in which a name repeats, with all of their members. In `value` the last one counts. */
  readonly repeats: ReadonlyMap<object, MemberList>;
}

/**
 * Parses JSON. Numbers that a double would spell differently become `ExactNumber`, as far as `numbers` says. Throws
 * {@link JsonSyntaxError} with Go's texts.
 */
export function readJson(sent: string, numbers?: JsonNumbers): JsonDocument {
  const text = withoutLoneSurrogates(sent);
  const survey = surveyTokens(text);
  if (survey.tooDeep !== undefined)
    throw new JsonSyntaxError(`invalid character '${survey.tooDeep}' exceeded max depth`);
  if (!survey.plainNumbers) return readJsonSlowly(text, numbers);
  try {
    const value = parseText(text);
    return countMembers(value) === survey.members ? { value, repeats: noRepeats } : readJsonSlowly(text);
  } catch (error) {
    return refuse(text, error);
  }
}

/** Longer texts are read in slices: JSON.parse of small objects takes a millisecond for this many bytes. */
const sliceChars = 64 * 1024;

/** True when {@link readJson} finishes a text within a slice. */
export function isShortText(text: string): boolean {
  return text.length < sliceChars;
}

/** Does what {@link readJson} does, for texts of any length. Throws JsonLimitError for a text beyond the limits. Default: no limits. */
export function* readJsonText(sent: string, limits?: JsonLimits, numbers?: JsonNumbers): SlicedWork<JsonDocument> {
  if (isShortText(sent)) return readJson(sent, numbers);
  const text = mayHoldSurrogates(sent) ? yield* withoutSurrogatesInSlices(sent) : sent;
  return yield* readJsonInSlices(text, limits, numbers);
}

// A surrogate pair, half of one, or any other escape.
const escapes = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)/gs;

/** Half of an escaped surrogate pair becomes U+FFFD, as in Go, because UTF-8 cannot encode it. */
function withoutLoneSurrogates(text: string): string {
  if (!mayHoldSurrogates(text)) return text;
  return text.replaceAll(escapes, (whole: string, half: string | undefined) =>
    half === undefined ? whole : '\\ufffd',
  );
}

function mayHoldSurrogates(text: string): boolean {
  return text.includes('\\ud') || text.includes('\\uD');
}

const escapesPerSlice = 4096;

function* withoutSurrogatesInSlices(text: string): SlicedWork<string> {
  let result = '';
  let end = 0;
  let count = 0;
  for (const { 1: half, index } of text.matchAll(escapes)) {
    if (++count % escapesPerSlice === 0) yield;
    if (half === undefined) continue;
    result += `${text.slice(end, index)}\\ufffd`;
    end = index + 6;
  }
  return result + text.slice(end);
}

/**
 * Decodes a body; bytes that are not UTF-8 become U+FFFD, as in Go. A byte order mark is kept and therefore refused.
 */
export function decodeText(body: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
}

function refuse(text: string, cause: unknown): never {
  readJsonSlowly(text);
  throw new JsonSyntaxError('invalid JSON', { cause });
}

interface TokenSurvey {
  /** Number of colons outside of strings: in valid JSON, the members of all objects. */
  members: number;
  /** The bracket that exceeds the allowed depth. */
  tooDeep: string | undefined;
  /** True when no number has a fraction, an exponent or more than 15 digits. */
  plainNumbers: boolean;
}

const longOrFractional = /\d(?:[.eE]|\d{15})/y;

function surveyTokens(text: string): TokenSurvey {
  const survey: TokenSurvey = { members: 0, tooDeep: undefined, plainNumbers: true };
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfJsonString(text, at);
    else if (code === 0x3a) survey.members++;
    else if (code === 0x7b || code === 0x5b) noteDepth(survey, ++depth, code);
    else if (code === 0x7d || code === 0x5d) depth--;
    else if (code >= 0x30 && code <= 0x39 && survey.plainNumbers) {
      longOrFractional.lastIndex = at;
      survey.plainNumbers = !longOrFractional.test(text);
    }
  }
  return survey;
}

function noteDepth(survey: TokenSurvey, depth: number, bracket: number): void {
  if (depth === maxJsonDepth + 1) survey.tooDeep ??= String.fromCharCode(bracket);
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) {
    let sum = 0;
    for (const item of value) sum += countMembers(item);
    return sum;
  }
  const keys = Object.keys(value);
  let sum = keys.length;
  for (const key of keys) sum += countMembers((value as Record<string, unknown>)[key]);
  return sum;
}
