// TokenReader returns the tokens of an expression, and reports the expected one. Part of parser.ts.
import { SyntaxFailure } from './syntax-guard.ts';
import { shownToken, type Token, type TokenKind } from './token.ts';

export class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  /** The last token is the end of the text. */
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** The next token, which stays the next. */
  get token(): Token {
    return this.#tokens[this.#at] as Token;
  }

  peek(): TokenKind {
    return this.token.kind;
  }

  /** Returns the token at an offset from the next one; a negative offset looks back. */
  ahead(places: number): Token | undefined {
    return this.#tokens[this.#at + places];
  }

  skip(count: number): void {
    this.#at += count;
  }

  next(): Token {
    return this.#tokens[this.#at++] as Token;
  }

  takes(kind: TokenKind): Token | undefined {
    return this.token.kind === kind ? this.next() : undefined;
  }

  expect(kind: TokenKind): Token {
    if (this.token.kind !== kind) this.fail(kind === 'identifier' ? 'IDENTIFIER' : `'${kind}'`);
    return this.next();
  }

  fail(expected: string): never {
    const message = `Syntax error: mismatched input ${shownToken(this.token)} expecting ${expected}`;
    throw new SyntaxFailure(message, this.token.offset);
  }
}
