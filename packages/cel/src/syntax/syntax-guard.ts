// SyntaxGuard limits how deeply an expression may nest, counted like the grammar's generated parser and its visitor.

/** Maximum nesting of one rule of the grammar, and of operators, selections and calls. */
export const maxDepth = 250;

/** Rules that may nest deeper than the rules that contain them. */
type Rule = 'calc' | 'expr' | 'relation';

/** Ends the parsing of a text. */
export class SyntaxFailure extends Error {
  /** Position in the text; undefined when the error concerns the whole text. */
  readonly offset: number | undefined;

  constructor(message: string, offset?: number) {
    super(message);
    this.offset = offset;
  }
}

export class SyntaxGuard {
  readonly #depths: Record<Rule, number> = { calc: 0, expr: 0, relation: 0 };
  /** Number of nested operators, selections and calls in the expression read last. */
  height = 0;
  #isTooHigh = false;

  enter(rule: Rule): void {
    this.#depths[rule]++;
    if (this.#depths[rule] > maxDepth) throw new SyntaxFailure(`expression recursion limit exceeded: ${maxDepth}`);
  }

  leave(rule: Rule): void {
    this.#depths[rule]--;
  }

  /** Counts a node above the expression read last and others of the given heights. */
  node(...heights: readonly number[]): void {
    this.height = Math.max(this.height, ...heights) + 1;
    if (this.height > maxDepth) this.#isTooHigh = true;
  }

  /** The visitor runs after the parser, so its limit counts only once the whole text was read. */
  finish(): void {
    if (this.#isTooHigh) throw new SyntaxFailure('max recursion depth exceeded');
  }
}
