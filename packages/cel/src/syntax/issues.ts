// Issues: the errors of one expression, collected by parser, checker and validators, and the CelCompileError made from
// them.
import { type Location, noLocation, type Source } from './source.ts';

/** An error in the text of an expression, with the place that the message of CelCompileError shows: `<input>:LINE:COLUMN`. */
export interface Issue {
  /** Line, counted from 1; -1 for an error about the whole expression. */
  readonly line: number;
  /** Column in code points, counted from 1; 0 for an error about the whole expression, and in an empty one. */
  readonly column: number;
  readonly message: string;
}

interface Found {
  readonly location: Location;
  readonly message: string;
}

/** Further messages are counted but not shown. */
const maxIssues = 100;

/** Thrown for an expression that does not compile. Its message lists every issue with its place. */
export class CelCompileError extends Error {
  /** The issues in the order of their places. */
  readonly issues: readonly Issue[];

  constructor(message: string, issues: readonly Issue[]) {
    super(message);
    this.name = 'CelCompileError';
    this.issues = issues;
  }
}

/**
 * Thrown when a constant part of an expression has no value: `int('x')`. Such parts are evaluated when the program is
 * made.
 */
export class CelProgramError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CelProgramError';
  }
}

export class Issues {
  readonly #source: Source;
  readonly #found: Found[] = [];
  #count = 0;

  constructor(source: Source) {
    this.#source = source;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Adds an issue at a place of the source, in UTF-16 units. */
  add(offset: number, message: string): void {
    this.#add(this.#source.locate(offset), message);
  }

  /** Adds an issue about the whole expression, which exceeds a limit. */
  addWhole(message: string): void {
    this.#add(noLocation, message);
  }

  /** Throws when there is an issue. */
  throwIfAny(): void {
    if (this.isEmpty) return;
    const sorted = this.#found.toSorted(({ location: a }, { location: b }) => a.line - b.line || a.column - b.column);
    const lines = sorted.map(({ location, message }) => this.#source.format(location, message));
    if (this.#count > maxIssues) lines.push(`${this.#count - maxIssues} more errors were truncated`);
    const issues = sorted.map(({ location: { line, column }, message }) => ({ line, column: column + 1, message }));
    throw new CelCompileError(lines.join('\n'), issues);
  }

  #add(location: Location, message: string): void {
    this.#count++;
    if (this.#count <= maxIssues) this.#found.push({ location, message });
  }
}
