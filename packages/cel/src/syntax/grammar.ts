// The grammar of expressions as data, in the shape of the published one. It is used only to describe syntax errors, because their texts
// depend on how the published grammar is divided into rules and choices; parser.ts parses.
import type { TokenKind } from './token.ts';

/**
 * How a choice is made: by the next token alone, by as many tokens as necessary, or by the precedence of an operator.
 */
export type Choice = 'token' | 'tokens' | 'precedence';

export type RuleName =
  | 'calc'
  | 'conditionalAnd'
  | 'conditionalOr'
  | 'escapeIdent'
  | 'expr'
  | 'exprList'
  | 'fieldInitializerList'
  | 'listInit'
  | 'literal'
  | 'mapInitializerList'
  | 'member'
  | 'optExpr'
  | 'optField'
  | 'primary'
  | 'relation'
  | 'start'
  | 'unary';

/** A part of a rule. `precedence` of a rule is the lowest operator that it accepts; of a part, the operator's. */
export type GrammarNode =
  | { readonly type: 'token'; readonly kinds: readonly TokenKind[] }
  | { readonly type: 'rule'; readonly name: RuleName; readonly precedence: number }
  | { readonly type: 'sequence'; readonly parts: readonly GrammarNode[]; readonly precedence?: number }
  | {
      readonly type: 'choice' | 'optional' | 'star' | 'plus';
      readonly by: Choice;
      readonly alternatives: readonly GrammarNode[];
    };

const token = (...kinds: TokenKind[]): GrammarNode => ({ type: 'token', kinds });
const rule = (name: RuleName, precedence = 0): GrammarNode => ({ type: 'rule', name, precedence });
const all = (...parts: GrammarNode[]): GrammarNode => ({ type: 'sequence', parts });
const operator = (precedence: number, ...parts: GrammarNode[]): GrammarNode => ({
  type: 'sequence',
  parts,
  precedence,
});
const choice = (by: Choice, ...alternatives: GrammarNode[]): GrammarNode => ({ type: 'choice', by, alternatives });
const optional = (...parts: GrammarNode[]): GrammarNode => ({
  type: 'optional',
  by: 'token',
  alternatives: [all(...parts)],
});
const star = (by: Choice, ...alternatives: GrammarNode[]): GrammarNode => ({ type: 'star', by, alternatives });
const plus = (by: Choice, part: GrammarNode): GrammarNode => ({ type: 'plus', by, alternatives: [part] });

const callArguments = all(token('('), optional(rule('exprList')), token(')'));

/** The rules by name. Operators of equal rank are one rule that calls itself for the right side. */
export const grammar: Readonly<Record<RuleName, GrammarNode>> = {
  start: all(rule('expr'), token('end')),
  expr: all(rule('conditionalOr'), optional(token('?'), rule('conditionalOr'), token(':'), rule('expr'))),
  conditionalOr: all(rule('conditionalAnd'), star('token', all(token('||'), rule('conditionalAnd')))),
  conditionalAnd: all(rule('relation'), star('token', all(token('&&'), rule('relation')))),
  relation: all(
    rule('calc'),
    star('precedence', operator(1, token('<', '<=', '>=', '>', '==', '!=', 'in'), rule('relation', 2))),
  ),
  calc: all(
    rule('unary'),
    star(
      'precedence',
      operator(2, token('*', '/', '%'), rule('calc', 3)),
      operator(1, token('+', '-'), rule('calc', 2)),
    ),
  ),
  unary: choice(
    'tokens',
    rule('member'),
    all(plus('token', token('!')), rule('member')),
    all(plus('tokens', token('-')), rule('member')),
  ),
  member: all(
    rule('primary'),
    star(
      'precedence',
      operator(3, token('.'), optional(token('?')), rule('escapeIdent')),
      operator(2, token('.'), token('identifier'), callArguments),
      operator(1, token('['), optional(token('?')), rule('expr'), token(']')),
    ),
  ),
  primary: choice(
    'tokens',
    all(optional(token('.')), token('identifier')),
    all(optional(token('.')), token('identifier'), callArguments),
    all(token('('), rule('expr'), token(')')),
    all(token('['), optional(rule('listInit')), optional(token(',')), token(']')),
    all(token('{'), optional(rule('mapInitializerList')), optional(token(',')), token('}')),
    all(
      optional(token('.')),
      token('identifier'),
      star('token', all(token('.'), token('identifier'))),
      token('{'),
      optional(rule('fieldInitializerList')),
      optional(token(',')),
      token('}'),
    ),
    rule('literal'),
  ),
  exprList: all(rule('expr'), star('token', all(token(','), rule('expr')))),
  listInit: all(rule('optExpr'), star('tokens', all(token(','), rule('optExpr')))),
  fieldInitializerList: all(
    rule('optField'),
    token(':'),
    rule('expr'),
    star('tokens', all(token(','), rule('optField'), token(':'), rule('expr'))),
  ),
  optField: all(optional(token('?')), rule('escapeIdent')),
  mapInitializerList: all(
    rule('optExpr'),
    token(':'),
    rule('expr'),
    star('tokens', all(token(','), rule('optExpr'), token(':'), rule('expr'))),
  ),
  escapeIdent: choice('token', token('identifier'), token('escapedIdentifier')),
  optExpr: all(optional(token('?')), rule('expr')),
  literal: choice(
    'tokens',
    all(optional(token('-')), token('int')),
    token('uint'),
    all(optional(token('-')), token('double')),
    token('string'),
    token('bytes'),
    token('true'),
    token('false'),
    token('null'),
  ),
};
