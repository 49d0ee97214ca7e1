// Parser turns tokens into the tree of an expression, with macros expanded. It descends like the published grammar,
// because the limits on recursion count that grammar's rules. It stops at the first syntax error, and reports issues
// found before it, too.
import type { SlicedWork } from '@kapstan/api/internal';
import { codePointCount } from '../values/code-points.ts';
import { isFailure } from '../values/failure.ts';
import type { Expr, MapEntry, StructField } from './expr.ts';
import type { Issues } from './issues.ts';
import { tokenize } from './lexer.ts';
import { literalValue } from './literal-value.ts';
import { balancedTree } from './logic-tree.ts';
import { MacroBuilder } from './macro-builder.ts';
import { isMacroError, type Macro, macroKey } from './macros.ts';
import { SyntaxFailure, SyntaxGuard } from './syntax-guard.ts';
import { reportSyntaxFailure } from './syntax-report.ts';
import { reservedWords, type Token, type TokenKind } from './token.ts';
import { TokenReader } from './token-reader.ts';

/** Longest text of an expression, in code points. */
const maxCodePoints = 100_000;

const relations: ReadonlySet<TokenKind> = new Set<TokenKind>(['<', '<=', '>=', '>', '==', '!=', 'in']);
const products: ReadonlySet<TokenKind> = new Set<TokenKind>(['*', '/', '%']);
const sums: ReadonlySet<TokenKind> = new Set<TokenKind>(['+', '-']);
const none: ReadonlySet<TokenKind> = new Set();

export interface SyntaxOptions {
  readonly macros: ReadonlyMap<string, Macro>;
  /** True if `a.?b`, `a[?b]` and `[?a]` are allowed. */
  readonly hasOptionals: boolean;
}

/** Parses an expression in two steps. The result is valid only when there are no issues. */
export function* parseExpression(text: string, options: SyntaxOptions, issues: Issues): SlicedWork<Expr> {
  const size = text.length > maxCodePoints ? codePointCount(text) : 0;
  if (size > maxCodePoints) {
    issues.addWhole(`expression code point size exceeds limit: size: ${size}, limit ${maxCodePoints}`);
    return { kind: 'broken', offset: 0 };
  }
  const tokens = tokenize(text, issues);
  // For a long text each of these steps takes tens of milliseconds.
  yield;
  const describe = (failure: SyntaxFailure): void => reportSyntaxFailure(failure, { text, tokens, issues });
  return new Parser(new TokenReader(tokens), { ...options, describe }, issues).start();
}

interface ParserOptions extends SyntaxOptions {
  /** Reports the reason why the text cannot be parsed. */
  describe(failure: SyntaxFailure): void;
}

class Parser {
  readonly #tokens: TokenReader;
  readonly #options: ParserOptions;
  readonly #issues: Issues;
  readonly #guard = new SyntaxGuard();

  constructor(tokens: TokenReader, options: ParserOptions, issues: Issues) {
    this.#tokens = tokens;
    this.#options = options;
    this.#issues = issues;
  }

  start(): Expr {
    try {
      const expr = this.#expr();
      if (this.#tokens.token.kind !== 'end') this.#tokens.fail('<EOF>');
      this.#guard.finish();
      return expr;
    } catch (error) {
      if (!(error instanceof SyntaxFailure)) throw error;
      this.#options.describe(error);
      return { kind: 'broken', offset: 0 };
    }
  }

  #report(offset: number, message: string): Expr {
    this.#issues.add(offset, message);
    return { kind: 'broken', offset };
  }

  #expr(): Expr {
    this.#guard.enter('expr');
    const condition = this.#or();
    const mark = this.#tokens.takes('?');
    if (mark === undefined) {
      this.#guard.leave('expr');
      return condition;
    }
    const height = this.#guard.height;
    const whenTrue = this.#or();
    const trueHeight = this.#guard.height;
    this.#tokens.expect(':');
    const whenFalse = this.#expr();
    this.#guard.leave('expr');
    this.#guard.node(height, trueHeight);
    return this.#call(mark.offset, '_?_:_', [condition, whenTrue, whenFalse]);
  }

  #or(): Expr {
    return this.#logic('||', '_||_', () => this.#logic('&&', '_&&_', () => this.#relation()));
  }

  #logic(mark: '&&' | '||', name: string, term: () => Expr): Expr {
    const terms = [term()];
    const marks: Token[] = [];
    let height = this.#guard.height;
    for (let token = this.#tokens.takes(mark); token !== undefined; token = this.#tokens.takes(mark)) {
      marks.push(token);
      terms.push(term());
      height = Math.max(height, this.#guard.height);
    }
    this.#guard.height = height;
    return balancedTree(name, terms, marks);
  }

  #relation(): Expr {
    return this.#binary('relation', { marks: relations, operand: (isRight) => this.#relationOperand(isRight) });
  }

  /** The right side of a relation is itself a relation of one operand, and counts as one. */
  #relationOperand(isRight: boolean): Expr {
    if (!isRight) return this.#sum();
    return this.#binary('relation', { marks: none, operand: () => this.#sum() });
  }

  #sum(): Expr {
    return this.#binary('calc', {
      marks: sums,
      operand: (isRight) => (isRight ? this.#product() : this.#productChain()),
    });
  }

  #product(): Expr {
    this.#guard.enter('calc');
    const product = this.#productChain();
    this.#guard.leave('calc');
    return product;
  }

  #productChain(): Expr {
    return this.#chain(products, (isRight) => {
      if (!isRight) return this.#unary();
      return this.#binary('calc', { marks: none, operand: () => this.#unary() });
    });
  }

  #binary(
    rule: 'calc' | 'relation',
    parts: { marks: ReadonlySet<TokenKind>; operand: (isRight: boolean) => Expr },
  ): Expr {
    this.#guard.enter(rule);
    const expr = this.#chain(parts.marks, parts.operand);
    this.#guard.leave(rule);
    return expr;
  }

  #chain(marks: ReadonlySet<TokenKind>, operand: (isRight: boolean) => Expr): Expr {
    let left = operand(false);
    while (marks.has(this.#tokens.token.kind)) {
      const height = this.#guard.height;
      const mark = this.#tokens.next();
      const right = operand(true);
      this.#guard.node(height);
      left = this.#call(mark.offset, mark.kind === 'in' ? '@in' : `_${mark.kind}_`, [left, right]);
    }
    return left;
  }

  #unary(): Expr {
    const { kind, offset } = this.#tokens.token;
    if (kind !== '!' && kind !== '-') return this.#member();
    if (kind === '-' && this.#isNegativeLiteral()) return this.#member();
    let count = 0;
    while (this.#tokens.takes(kind) !== undefined) count++;
    const operand = this.#member();
    return count % 2 === 0 ? operand : this.#call(offset, kind === '!' ? '!_' : '-_', [operand]);
  }

  #isNegativeLiteral(): boolean {
    const following = this.#tokens.ahead(1)?.kind;
    return following === 'int' || following === 'double';
  }

  #member(): Expr {
    let expr = this.#primary();
    for (;;) {
      const mark = this.#tokens.takes('.') ?? this.#tokens.takes('[');
      if (mark === undefined) return expr;
      expr = mark.kind === '.' ? this.#selection(expr, mark) : this.#index(expr, mark);
    }
  }

  #selection(operand: Expr, dot: Token): Expr {
    const height = this.#guard.height;
    const isOptional = this.#tokens.takes('?') !== undefined;
    const name = this.#tokens.token;
    if (name.kind === 'escapedIdentifier') {
      this.#tokens.next();
      this.#report(name.offset, "unsupported syntax: '`'");
      this.#guard.node(height);
      return { kind: 'select', offset: dot.offset, operand, field: name.text.slice(1, -1), isTest: false };
    }
    this.#tokens.expect('identifier');
    if (isOptional) {
      this.#guard.node(height);
      if (!this.#options.hasOptionals) return this.#report(dot.offset, "unsupported syntax '.?'");
      const field: Expr = { kind: 'literal', offset: name.offset, value: name.text };
      return { kind: 'call', offset: dot.offset, name: '_?._', target: undefined, args: [operand, field] };
    }
    const open = this.#tokens.takes('(');
    if (open === undefined) {
      this.#guard.node(height);
      return { kind: 'select', offset: dot.offset, operand, field: name.text, isTest: false };
    }
    const args = this.#args();
    this.#guard.node(height);
    return this.#callOrMacro(open.offset, name.text, { target: operand, args });
  }

  #index(operand: Expr, open: Token): Expr {
    const height = this.#guard.height;
    const isOptional = this.#tokens.takes('?') !== undefined;
    const index = this.#expr();
    this.#tokens.expect(']');
    this.#guard.node(height);
    if (isOptional && !this.#options.hasOptionals) return this.#report(open.offset, "unsupported syntax '[?'");
    return this.#call(open.offset, isOptional ? '_[?_]' : '_[_]', [operand, index]);
  }

  /** Reads the arguments of a call, after its opening bracket, with the closing one. */
  #args(): Expr[] {
    const args: Expr[] = [];
    let height = 0;
    if (this.#tokens.token.kind !== ')') {
      do {
        args.push(this.#expr());
        height = Math.max(height, this.#guard.height);
      } while (this.#tokens.takes(',') !== undefined);
    }
    this.#tokens.expect(')');
    this.#guard.height = height;
    return args;
  }

  #primary(): Expr {
    this.#guard.height = 0;
    const token = this.#tokens.token;
    switch (token.kind) {
      case '.':
      case 'identifier':
        return this.#name();
      case '(':
        return this.#nested();
      case '[':
        return this.#list();
      case '{':
        return this.#map();
      default:
        return this.#literal();
    }
  }

  #nested(): Expr {
    this.#tokens.next();
    const expr = this.#expr();
    this.#tokens.expect(')');
    return expr;
  }

  #name(): Expr {
    const start = this.#tokens.token.offset;
    const dot = this.#tokens.takes('.') === undefined ? '' : '.';
    const message = this.#structName();
    if (message !== undefined) return this.#struct(dot + message);
    const name = this.#tokens.expect('identifier');
    if (this.#tokens.takes('(') !== undefined) return this.#globalCall(start, dot, name);
    if (reservedWords.has(name.text)) return this.#report(start, `reserved identifier: ${name.text}`);
    return { kind: 'ident', offset: name.offset, name: dot + name.text };
  }

  #globalCall(start: number, dot: string, name: Token): Expr {
    const open = this.#tokens.ahead(-1) as Token;
    const refused = reservedWords.has(name.text) ? this.#report(start, `reserved identifier: ${name.text}`) : undefined;
    const args = this.#args();
    if (refused !== undefined) return refused;
    return this.#callOrMacro(open.offset, dot + name.text, { target: undefined, args });
  }

  /** Returns the dotted name of a struct if one is constructed here: `a.b.C{`. The bracket stays the next token. */
  #structName(): string | undefined {
    let at = 0;
    let name = '';
    for (;;) {
      const token = this.#tokens.ahead(at);
      if (token?.kind !== 'identifier') return undefined;
      name += token.text;
      const mark = this.#tokens.ahead(at + 1)?.kind;
      if (mark === '{') break;
      if (mark !== '.') return undefined;
      name += '.';
      at += 2;
    }
    this.#tokens.skip(at + 1);
    return name;
  }

  #struct(name: string): Expr {
    const open = this.#tokens.next();
    const fields: StructField[] = [];
    const first = this.#tokens.token.offset;
    this.#items('}', () => {
      const isOptional = this.#optionalMark();
      const field =
        this.#tokens.token.kind === 'escapedIdentifier' ? this.#tokens.next() : this.#tokens.expect('identifier');
      if (field.kind !== 'identifier') this.#report(first, "unsupported syntax: '`'");
      const colon = this.#tokens.expect(':');
      fields.push({ offset: colon.offset, name: field.text, value: this.#expr(), isOptional });
      return this.#guard.height;
    });
    return { kind: 'struct', offset: open.offset, name, fields };
  }

  #list(): Expr {
    const open = this.#tokens.next();
    const elements: Expr[] = [];
    const optionals = new Set<number>();
    this.#items(']', () => {
      if (this.#optionalMark()) optionals.add(elements.length);
      elements.push(this.#expr());
      return this.#guard.height;
    });
    return { kind: 'list', offset: open.offset, elements, optionals };
  }

  #map(): Expr {
    const open = this.#tokens.next();
    const entries: MapEntry[] = [];
    this.#items('}', () => {
      const isOptional = this.#optionalMark();
      const key = this.#expr();
      const height = this.#guard.height;
      const colon = this.#tokens.expect(':');
      entries.push({ offset: colon.offset, key, value: this.#expr(), isOptional });
      return Math.max(height, this.#guard.height);
    });
    return { kind: 'map', offset: open.offset, entries };
  }

  #optionalMark(): boolean {
    const mark = this.#tokens.takes('?');
    if (mark !== undefined && !this.#options.hasOptionals) this.#report(mark.offset, "unsupported syntax '?'");
    return mark !== undefined;
  }

  /** Reads items between commas up to the closing bracket. A comma may precede it, even without items. */
  #items(close: ']' | '}', readItem: () => number): void {
    let height = 0;
    while (this.#tokens.token.kind !== close && this.#tokens.token.kind !== ',') {
      height = Math.max(height, readItem());
      if (this.#tokens.takes(',') === undefined) break;
      if (this.#tokens.peek() === ',') this.#tokens.fail(`'${close}'`);
    }
    this.#tokens.takes(',');
    this.#tokens.expect(close);
    this.#guard.height = height;
  }

  #literal(): Expr {
    const start = this.#tokens.token.offset;
    const sign = this.#tokens.takes('-')?.text ?? '';
    const token = this.#tokens.token;
    if (sign !== '' && token.kind !== 'int' && token.kind !== 'double') this.#failPrimary();
    const value = literalValue(token, sign);
    if (value === undefined) this.#failPrimary();
    this.#tokens.next();
    if (isFailure(value)) return this.#report(start, value.message);
    return { kind: 'literal', offset: start, value };
  }

  #failPrimary(): never {
    this.#tokens.fail(
      "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    );
  }

  #call(offset: number, name: string, args: readonly Expr[]): Expr {
    return { kind: 'call', offset, name, target: undefined, args };
  }

  #callOrMacro(offset: number, name: string, call: { target: Expr | undefined; args: readonly Expr[] }): Expr {
    const macro = this.#options.macros.get(macroKey(name, call.args.length, call.target !== undefined));
    if (macro === undefined) return { kind: 'call', offset, name, ...call };
    const expanded = macro.expand(new MacroBuilder(offset), call);
    return isMacroError(expanded) ? this.#report(expanded.offset, expanded.error) : expanded;
  }
}
