// Token: a word of an expression. The kinds of operators and punctuation are their texts.

export type TokenKind =
  | 'bytes'
  | 'double'
  | 'end'
  | 'escapedIdentifier'
  | 'false'
  | 'identifier'
  | 'in'
  | 'int'
  | 'null'
  | 'string'
  | 'true'
  | 'uint'
  | '=='
  | '!='
  | '<'
  | '<='
  | '>='
  | '>'
  | '&&'
  | '||'
  | '['
  | ']'
  | '{'
  | '}'
  | '('
  | ')'
  | '.'
  | ','
  | '-'
  | '!'
  | '?'
  | ':'
  | '+'
  | '*'
  | '/'
  | '%';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Offset of its first character, in UTF-16 units. */
  readonly offset: number;
}

/** Returns the token as ANTLR's messages show it. */
export function shownToken(token: Token): string {
  const text = token.kind === 'end' ? '<EOF>' : token.text;
  return `'${text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')}'`;
}

/** Words that may not name a variable or a function. */
export const reservedWords: ReadonlySet<string> = new Set(
  (
    'as break const continue else false for function if import in let loop package namespace null return true var void ' +
    'while'
  ).split(' '),
);
