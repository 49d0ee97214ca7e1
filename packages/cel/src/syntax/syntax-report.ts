// Describes the syntax errors of an expression in the words of the published parser, which ANTLR makes from the grammar: it repairs the
// input and continues, so there may be several. It runs only for an expression that parser.ts refused. Source: ANTLR's DefaultErrorStrategy
// and the limits that cel-go puts on it.

import type { RuleName } from './grammar.ts';
import type { ChoicePart, Follower, Part, State } from './grammar-network.ts';
import { grammarParts } from './grammar-parts.ts';
import type { Issues } from './issues.ts';
import { maxDepth, type SyntaxFailure } from './syntax-guard.ts';
import { reservedWords, shownToken, type Token, type TokenKind } from './token.ts';
import { expectedText, textBetween } from './token-texts.ts';

interface DescribedError {
  /** Undefined for an error of the whole text. */
  readonly offset: number | undefined;
  readonly message: string;
}

/** Maximum number of repairs of one text, and of tokens that one of them skips. */
const maxRepairs = 30;
const maxSkipped = 256;

/** Reports the errors that the published parser finds, which continues after the first one. */
export function reportSyntaxFailure(
  { offset, message }: SyntaxFailure,
  { text, tokens, issues }: { readonly text: string; readonly tokens: readonly Token[]; readonly issues: Issues },
): void {
  if (offset === undefined) return issues.addWhole(message);
  const described = describeSyntaxErrors(text, tokens, (token) => token.offset >= offset);
  if (described.length === 0) issues.add(offset, message);
  for (const error of described) {
    if (error.offset === undefined) issues.addWhole(error.message);
    else issues.add(error.offset, error.message);
  }
}

/**
 * Returns the errors in the order in which they are found. `isUnread` returns true for tokens that the parser did not reach; their other
 * faults are reported here, too.
 */
function describeSyntaxErrors(
  text: string,
  tokens: readonly Token[],
  isUnread: (token: Token) => boolean,
): readonly DescribedError[] {
  const reader = new RepairingReader(text, tokens, isUnread);
  reader.run();
  return reader.errors;
}

/** A fault that ends the rule in which it is found. */
interface Fault {
  readonly type: 'mismatch' | 'noChoice';
  readonly token: Token;
  readonly from: Token;
  readonly expected: ReadonlySet<TokenKind>;
}

class RuleFault extends Error {
  readonly fault: Fault;
  constructor(fault: Fault) {
    super('the rule does not fit');
    this.fault = fault;
  }
}

/** Ends the reading: a limit was reached. */
class ReadingEnd extends Error {}

/** Reads a part. It yields the readings of its parts, so that deep texts need no deep calls. */
type Reading = Generator<Reading, undefined>;

function drive(first: Reading): void {
  const open = [first];
  let thrown: { readonly error: unknown } | undefined;
  for (let reading = open.at(-1); reading !== undefined; reading = open.at(-1)) {
    try {
      const { done, value } = thrown === undefined ? reading.next() : reading.throw(thrown.error);
      thrown = undefined;
      if (done === true) open.pop();
      else open.push(value as Reading);
    } catch (error) {
      open.pop();
      thrown = { error };
    }
  }
  if (thrown !== undefined) throw thrown.error;
}

class RepairingReader {
  readonly errors: DescribedError[] = [];
  readonly #text: string;
  readonly #tokens: readonly Token[];
  /** The calls of rules that are being read, outermost first. */
  readonly #calls: State[] = [];
  /** Number of readings of each rule under way. */
  readonly #depths = new Map<RuleName, number>();
  readonly #isUnread: (token: Token) => boolean;
  /** True while the next name names a variable or a function. */
  #readsName = false;
  #at = 0;
  #state: State = grammarParts.network.starts.start;
  /** Offset of the first field of the innermost struct. */
  #fieldsAt = 0;
  #isRepairing = false;
  #lastFaultAt = -1;
  #lastFaultStates = new Set<State>();
  #repairs = 0;

  constructor(text: string, tokens: readonly Token[], isUnread: (token: Token) => boolean) {
    this.#text = text;
    this.#tokens = tokens;
    this.#isUnread = isUnread;
  }

  run(): void {
    try {
      drive(this.#rule('start', 0));
    } catch (error) {
      if (!(error instanceof ReadingEnd)) throw error;
    }
  }

  get #token(): Token {
    return this.#ahead(0);
  }

  #ahead(count: number): Token {
    return this.#tokens[Math.min(this.#at + count, this.#tokens.length - 1)] as Token;
  }

  *#rule(name: RuleName, precedence: number): Reading {
    const depth = (this.#depths.get(name) ?? 0) + 1;
    this.#depths.set(name, depth);
    if (depth > maxDepth) {
      this.errors.push({ offset: undefined, message: `expression recursion limit exceeded: ${maxDepth}` });
      throw new ReadingEnd();
    }
    try {
      yield this.#part(grammarParts.network.parts[name], precedence);
    } catch (error) {
      if (!(error instanceof RuleFault)) throw error;
      this.#report(error.fault);
      this.#recover();
      if (name === 'escapeIdent') this.#reportNoIdentifier(error.fault.token.offset);
    }
    this.#depths.set(name, depth - 1);
  }

  /** The published parser looks at all field names of a struct together, so it reports their errors at the first name. */
  #reportNoIdentifier(offset: number): void {
    const caller = this.#calls.at(-1)?.rule;
    if (caller === 'member') this.errors.push({ offset, message: 'unsupported ident kind' });
    else if (caller === 'optField') this.errors.push({ offset: this.#fieldsAt, message: 'unsupported ident kind' });
  }

  *#part(part: Part, precedence: number): Reading {
    switch (part.type) {
      case 'token':
        this.#match(part);
        return undefined;
      case 'rule': {
        const outerFields = this.#fieldsAt;
        if (part.name === 'fieldInitializerList') this.#fieldsAt = this.#token.offset;
        this.#state = part.at;
        this.#calls.push(part.at);
        yield this.#rule(part.name, part.precedence);
        this.#calls.pop();
        this.#state = part.at;
        this.#fieldsAt = outerFields;
        return undefined;
      }
      case 'sequence':
        for (const one of part.parts) yield this.#part(one, precedence);
        return undefined;
      default:
        return yield this.#choice(part, precedence);
    }
  }

  *#choice(part: ChoicePart, precedence: number): Reading {
    this.#sync(part.at);
    if (part.type === 'choice') return yield this.#part(this.#alternative(part), precedence);
    if (part.type === 'optional') {
      if (this.#begins(part.alternatives[0] as Part)) yield this.#part(part.alternatives[0] as Part, precedence);
      return undefined;
    }
    let hasMore = part.type === 'plus' || this.#continues(part, precedence);
    while (hasMore) {
      yield this.#part(
        part.by === 'precedence' ? this.#operation(part, precedence) : (part.alternatives[0] as Part),
        precedence,
      );
      this.#sync(part.back);
      hasMore = this.#continues(part, precedence);
    }
    return undefined;
  }

  #alternative(part: ChoicePart): Part {
    if (part.by === 'token') {
      const found = part.alternatives.find((one) => this.#begins(one));
      if (found === undefined) throw this.#noChoice(0);
      return found;
    }
    const chosen = this.#predicted(part.starts.slice(0, -1), part);
    // The first two alternatives are a variable and a call.
    if (part.at.rule === 'primary') this.#readsName = chosen <= 2;
    return part.alternatives[chosen - 1] as Part;
  }

  /** True when a loop runs once more. */
  #continues(part: ChoicePart, precedence: number): boolean {
    if (part.by === 'tokens') return this.#predicted(part.starts, part) <= part.alternatives.length;
    if (part.by === 'token') return this.#begins(part.alternatives[0] as Part);
    return part.alternatives.some(
      (one) => one.type === 'sequence' && one.precedence >= precedence && this.#begins(one),
    );
  }

  #operation(part: ChoicePart, precedence: number): Part {
    const open = part.alternatives.filter((one) => this.#begins(one));
    const allowed = open.filter((one) => one.type === 'sequence' && one.precedence >= precedence);
    if (allowed.length === 1) return allowed[0] as Part;
    return part.alternatives[this.#predicted(part.starts.slice(0, -1), part) - 1] as Part;
  }

  #predicted(starts: readonly State[], part: ChoicePart): number {
    const kept = grammarParts.startsOf(part, starts);
    const prediction = grammarParts.predictor.predict(kept, (ahead) => this.#ahead(ahead).kind);
    if ('alternative' in prediction) return prediction.alternative;
    throw this.#noChoice(prediction.failedAt);
  }

  #begins(part: Part): boolean {
    return grammarParts.beginning(part).has(this.#token.kind);
  }

  #noChoice(ahead: number): RuleFault {
    const expected = new Set<TokenKind>();
    return new RuleFault({ type: 'noChoice', token: this.#ahead(ahead), from: this.#token, expected });
  }

  #mismatch(): RuleFault {
    return new RuleFault({ type: 'mismatch', token: this.#token, from: this.#token, expected: this.#expected() });
  }

  #match({ at, kinds }: Extract<Part, { type: 'token' }>): void {
    this.#state = at;
    if (this.#readsName && kinds.has('identifier')) this.#checkName();
    if (kinds.has('escapedIdentifier') && this.#token.kind === 'escapedIdentifier') this.#refuseEscape();
    if (kinds.has(this.#token.kind)) return this.#accept();
    this.#countRepair();
    if (this.#deletes()) return this.#accept();
    if (!this.#inserts(at)) throw this.#mismatch();
  }

  #refuseEscape(): void {
    if (!this.#isUnread(this.#token)) return;
    const offset = this.#calls.at(-1)?.rule === 'optField' ? this.#fieldsAt : this.#token.offset;
    this.errors.push({ offset, message: "unsupported syntax: '`'" });
  }

  #checkName(): void {
    const name = this.#token;
    this.#readsName = false;
    if (name.kind !== 'identifier' || !this.#isUnread(name) || !reservedWords.has(name.text)) return;
    this.errors.push({ offset: name.offset, message: `reserved identifier: ${name.text}` });
  }

  #accept(): void {
    this.#endFault();
    this.#consume();
  }

  #consume(): void {
    if (this.#token.kind !== 'end') this.#at++;
  }

  #endFault(): void {
    this.#isRepairing = false;
    this.#lastFaultAt = -1;
    this.#lastFaultStates = new Set();
  }

  /** Repairs the input before a choice, where that is simple. */
  #sync(state: State): void {
    this.#state = state;
    if (this.#isRepairing) return;
    const next = grammarParts.network.followers(state);
    if (next.has('ruleEnd') || next.has(this.#token.kind)) return;
    if (state.role === 'loopBack') {
      this.#reportExtra();
      this.#skipTo(new Set([...this.#expected(), ...this.#resumptions()]), Number.POSITIVE_INFINITY);
    } else if (!this.#deletes()) throw this.#mismatch();
  }

  /** Leaves out one token when the one after it fits, which then becomes the next token. */
  #deletes(): boolean {
    if (!this.#expected().has(this.#ahead(1).kind)) return false;
    this.#reportExtra();
    this.#consume();
    this.#endFault();
    return true;
  }

  /** Continues as if a token had been there, when the present one fits after it. */
  #inserts({ next }: State): boolean {
    if (next === undefined || !this.#expectedAt(next).has(this.#token.kind)) return false;
    if (!this.#isRepairing) {
      this.#isRepairing = true;
      this.#add(this.#token, `missing ${expectedText(this.#expected())} at ${shownToken(this.#token)}`);
    }
    return true;
  }

  #reportExtra(): void {
    if (this.#isRepairing) return;
    this.#isRepairing = true;
    this.#add(this.#token, `extraneous input ${shownToken(this.#token)} expecting ${expectedText(this.#expected())}`);
  }

  #report({ type, token, from, expected }: Fault): void {
    if (this.#isRepairing) return;
    this.#isRepairing = true;
    if (type === 'mismatch')
      return this.#add(token, `mismatched input ${shownToken(token)} expecting ${expectedText(expected)}`);
    const input = from.kind === 'end' ? '<EOF>' : textBetween(this.#text, this.#tokens, { from, to: token });
    const shown = shownToken({ ...from, kind: 'string', text: input });
    const word = /^'.(true|false|null)'$/s.exec(shown)?.[1];
    this.#add(
      token,
      word === undefined
        ? `no viable alternative at input ${shown}`
        : `mismatched input '${word}' expecting IDENTIFIER`,
    );
  }

  #add(token: Token, message: string): void {
    this.errors.push({ offset: token.offset, message: `Syntax error: ${message}` });
  }

  #countRepair(): void {
    if (this.#repairs === maxRepairs) {
      this.errors.push({
        offset: this.#token.offset,
        message: `Syntax error: error recovery attempt limit exceeded: ${maxRepairs}`,
      });
      throw new ReadingEnd();
    }
    this.#repairs++;
  }

  /** Skips tokens up to one with which a rule that called this one can continue. */
  #recover(): void {
    this.#countRepair();
    if (this.#lastFaultAt === this.#at && this.#lastFaultStates.has(this.#state)) this.#consume();
    this.#lastFaultAt = this.#at;
    this.#lastFaultStates.add(this.#state);
    this.#skipTo(this.#resumptions(), maxSkipped);
  }

  #skipTo(kinds: ReadonlySet<Follower>, most: number): void {
    for (let count = 0; this.#token.kind !== 'end' && !kinds.has(this.#token.kind); count++) {
      if (count >= most) {
        this.errors.push({
          offset: undefined,
          message: `error recovery token lookahead limit exceeded: ${maxSkipped}`,
        });
        throw new ReadingEnd();
      }
      this.#consume();
    }
  }

  /** Returns the tokens that may follow the rules being read. */
  #resumptions(): Set<TokenKind> {
    const found = new Set<TokenKind>();
    const followers = this.#calls.flatMap(({ next }) => [...grammarParts.network.followers(next as State)]);
    for (const follower of followers) if (follower !== 'ruleEnd') found.add(follower);
    return found;
  }

  #expected(): Set<TokenKind> {
    return this.#expectedAt(this.#state);
  }

  #expectedAt(state: State): Set<TokenKind> {
    const found = new Set<TokenKind>();
    let following = grammarParts.network.followers(state);
    for (const follower of following) if (follower !== 'ruleEnd') found.add(follower);
    for (let i = this.#calls.length - 1; i >= 0 && following.has('ruleEnd'); i--) {
      following = grammarParts.network.followers(this.#calls[i]?.next as State);
      for (const follower of following) if (follower !== 'ruleEnd') found.add(follower);
    }
    if (following.has('ruleEnd')) found.add('end');
    return found;
  }
}
