// Matches users' patterns with RE2, whose time is linear in the length of the text for every pattern.
import { RE2JS } from 're2js';
import { CelFailure } from '../values/failure.ts';
import { patternSize } from './pattern-size.ts';

interface Compiled {
  readonly pattern: RE2JS | CelFailure;
  readonly size: number;
}

/** Compiled patterns, the oldest first. Definitions repeat a few patterns thousands of times. */
const known = new Map<string, Compiled>();
const maxKnown = 2_000;
/** Maximum number of instructions that are kept besides those of the latest pattern. They take some dozen megabytes. */
const maxInstructions = 256 * 1024;
let instructions = 0;

/** Compiling one instruction of a pattern takes as long as this many steps of matching: some 10 us. */
export const stepsToCompile: number = 128;

/** Returns the compiled pattern, or an error with the text of Go's regexp package. */
export function compilePattern(pattern: string): RE2JS | CelFailure {
  const before = known.get(pattern);
  if (before !== undefined) return before.pattern;
  const compiled: Compiled = { pattern: compile(pattern), size: patternSize(pattern) };
  makeRoom(compiled.size);
  known.set(pattern, compiled);
  instructions += compiled.size;
  return compiled.pattern;
}

function makeRoom(size: number): void {
  for (const [text, oldest] of known) {
    if (known.size < maxKnown && instructions + size <= maxInstructions) return;
    known.delete(text);
    instructions -= oldest.size;
  }
}

/** True when {@link compilePattern} returns at once. */
export const isCompiledPattern = (pattern: string): boolean => known.has(pattern);

/** Returns the number of steps for compiling a pattern: of about 40 ns each, 0 when it is compiled already. */
export function stepsOfCompiling(pattern: string): number {
  return known.has(pattern) ? 0 : patternSize(pattern) * stepsToCompile;
}

/** Returns at most how many steps finding the first match in a text takes when the pattern is compiled. */
export function stepsOfMatching(pattern: string, text: string): number {
  return (known.get(pattern)?.size ?? patternSize(pattern)) * text.length;
}

function compile(pattern: string): RE2JS | CelFailure {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    return new CelFailure((error as Error).message);
  }
}

export function matchesPattern(pattern: RE2JS, text: string): boolean {
  return pattern.test(text);
}

/** Returns the first match, or the empty text. */
export function findPattern(pattern: RE2JS, text: string): string {
  const matcher = pattern.matcher(text);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

/**
 * Yields the place of the end of each match; the value is the match, undefined for an empty one right after another
 * one, which Go leaves out.
 */
export function* matchesOf(
  pattern: RE2JS,
  text: string,
): Generator<{ readonly found: string | undefined; readonly end: number }> {
  const matcher = pattern.matcher(text);
  let lastEnd = -1;
  while (matcher.find()) {
    const isEmptyAfterMatch = matcher.start() === matcher.end() && matcher.start() === lastEnd;
    lastEnd = matcher.end();
    yield { found: isEmptyAfterMatch ? undefined : (matcher.group() ?? ''), end: lastEnd };
  }
}

/** Returns at most `limit` matches; all when it is negative. */
export function findAllPattern(pattern: RE2JS, text: string, limit: number): string[] {
  const found: string[] = [];
  if (limit === 0) return found;
  for (const match of matchesOf(pattern, text)) {
    if (match.found === undefined) continue;
    found.push(match.found);
    if (found.length === limit) break;
  }
  return found;
}
