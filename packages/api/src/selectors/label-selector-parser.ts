// The grammar of label selectors: "app=web,tier in (a,b),!legacy,weight>5". Texts and order of errors of apimachinery's labels.Parse.
import { formatFieldErrors } from '../errors/field-error.ts';
import { SlicePace, sortInSlices } from '../json/sliced-walks.ts';
import { membersPerSlice, runWhole, type SlicedWork } from '../time/sliced-work.ts';
import { type LabelOperator, type LabelRequirement, labelKeyErrors, labelRequirement } from './label-requirement.ts';
import { everyLabel, LabelSelector } from './label-selector.ts';

type TokenType =
  | 'error'
  | 'end'
  | 'identifier'
  | '('
  | ')'
  | ','
  | '!'
  | '='
  | '=='
  | '!='
  | '>'
  | '<'
  | 'in'
  | 'notin';

interface Token {
  readonly type: TokenType;
  readonly text: string;
}

/** Parses a label selector; "" selects everything. Throws TypeError with Kubernetes' text. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.length < longText) return text === '' ? everyLabel : runWhole(parse(text));
  const { selector, error } = recent.find(text) ?? recent.add(runWhole(tryParse(text)));
  if (selector === undefined) throw error;
  return selector;
}

/** Shorter texts are parsed in one slice. */
const longText = 16 * 1024;

/** The result for a long text: exactly one of the two members is set. */
export interface ParsedSelector {
  readonly text: string;
  readonly selector?: LabelSelector;
  readonly error?: TypeError;
}

/**
 * Parses a selector of any length: a URL has room for 100,000 terms. {@link parseLabelSelector} finds the result for a
 * long text while it is referenced somewhere. Returns undefined for a short text, which is not parsed.
 */
export function* parseLongLabelSelector(text: string): SlicedWork<ParsedSelector | undefined> {
  if (text.length < longText) return undefined;
  return recent.find(text) ?? recent.add(yield* tryParse(text));
}

function* tryParse(text: string): SlicedWork<ParsedSelector> {
  try {
    return { text, selector: yield* parse(text) };
  } catch (error) {
    if (error instanceof TypeError) return { text, error };
    throw error;
  }
}

/** Recent results, because several places of one request parse its selector. Held weakly. */
class RecentSelectors {
  readonly #parsed: (WeakRef<ParsedSelector> | undefined)[] = new Array(16).fill(undefined);
  #next = 0;

  find(text: string): ParsedSelector | undefined {
    for (const ref of this.#parsed) {
      const parsed = ref?.deref();
      if (parsed?.text === text) return parsed;
    }
    return undefined;
  }

  add(parsed: ParsedSelector): ParsedSelector {
    this.#parsed[this.#next] = new WeakRef(parsed);
    this.#next = (this.#next + 1) % this.#parsed.length;
    return parsed;
  }
}

const recent = new RecentSelectors();

function* parse(text: string): SlicedWork<LabelSelector> {
  const requirements = yield* new Parser(yield* scan(text)).parse();
  if (requirements.length === 0) return everyLabel;
  return new LabelSelector(yield* sortInSlices(requirements, (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)));
}

const symbols: ReadonlySet<string> = new Set(['=', '!', '(', ')', ',', '>', '<']);
const keywords: ReadonlySet<string> = new Set(['(', ')', ',', '!', '=', '==', '!=', '>', '<', 'in', 'notin']);
const blanks: ReadonlySet<string> = new Set([' ', '\t', '\r', '\n']);
/** Matches up to the next symbol or blank. */
const word = /[^=!(),<> \t\r\n]+/y;
const binaryOperators = 'in, notin, =, ==, !=, gt, lt';

/** Yields the tokens of the text; the last one has type 'end'. As in Kubernetes, a NUL ends the text. */
function* scan(text: string): SlicedWork<Token[]> {
  const tokens: Token[] = [];
  const pace = new SlicePace();
  const nul = text.indexOf('\0');
  const source = nul === -1 ? text : text.slice(0, nul);
  for (let at = 0; at < source.length; ) {
    if (pace.isDue()) yield;
    const char = source[at] ?? '';
    if (blanks.has(char)) {
      at++;
      continue;
    }
    const [token, length] = symbols.has(char) ? scanSymbol(source, at) : scanWord(source, at);
    tokens.push(token);
    at += length;
  }
  tokens.push({ type: 'end', text: '' });
  return tokens;
}

/** Reads the longest operator: it continues while the symbols read so far form one. */
function scanSymbol(text: string, start: number): [Token, number] {
  let end = start;
  while (symbols.has(text[end] ?? '') && keywords.has(text.slice(start, end + 1))) end++;
  const found = text.slice(start, end);
  return [{ type: found as TokenType, text: found }, found.length];
}

function scanWord(text: string, start: number): [Token, number] {
  word.lastIndex = start;
  const found = word.exec(text)?.[0] ?? '';
  return [{ type: keywords.has(found) ? (found as TokenType) : 'identifier', text: found }, found.length];
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  *parse(): SlicedWork<LabelRequirement[]> {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      if (requirements.length % membersPerSlice === membersPerSlice - 1) yield;
      const next = this.#peek();
      if (next.type === 'end') return requirements;
      if (next.type !== 'identifier' && next.type !== '!') {
        throw new TypeError(`found '${next.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#requirementWithContext());
      const separator = this.#take();
      if (separator.type === 'end') return requirements;
      if (separator.type !== ',') throw new TypeError(`found '${separator.text}', expected: ',' or 'end of string'`);
      const after = this.#peek();
      if (after.type !== 'identifier' && after.type !== '!') {
        throw new TypeError(`found '${after.text}', expected: identifier after ','`);
      }
    }
  }

  #requirementWithContext(): LabelRequirement {
    try {
      return this.#requirement();
    } catch (error) {
      throw new TypeError(`unable to parse requirement: ${(error as Error).message}`, { cause: error });
    }
  }

  #requirement(): LabelRequirement {
    let token = this.#take();
    const negated = token.type === '!';
    if (negated) token = this.#take();
    if (token.type !== 'identifier') throw new TypeError(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const wrong = labelKeyErrors(key, '<nil>');
    if (wrong.length > 0) throw new TypeError(formatFieldErrors(wrong));
    if (negated) return labelRequirement(key, '!', []);
    const after = this.#peek().type;
    if (after === 'end' || after === ',') return labelRequirement(key, 'exists', []);
    const operator = this.#operator();
    if (operator !== 'in' && operator !== 'notin') return labelRequirement(key, operator, [this.#exactValue()]);
    return labelRequirement(key, operator, [...this.#valueSet()].sort());
  }

  #operator(): LabelOperator {
    const { type, text } = this.#takeOperator();
    switch (type) {
      case 'in':
      case 'notin':
      case '=':
      case '==':
      case '!=':
      case '>':
      case '<':
        return type;
      default:
        throw new TypeError(`found '${text}', expected: ${binaryOperators}`);
    }
  }

  #exactValue(): string {
    const next = this.#peek().type;
    if (next === 'end' || next === ',') return '';
    const { type, text } = this.#take();
    if (type === 'identifier') return text;
    throw new TypeError(`found '${text}', expected: identifier`);
  }

  #valueSet(): Set<string> {
    const open = this.#take();
    if (open.type !== '(') throw new TypeError(`found '${open.text}' expected: '('`);
    const next = this.#peek();
    if (next.type === ')') {
      this.#take();
      return new Set(['']);
    }
    if (next.type !== 'identifier' && next.type !== ',') {
      throw new TypeError(`found '${next.text}', expected: ',', ')' or identifier`);
    }
    const values = this.#valueList();
    this.#take(); // The ")" that ends the list.
    return values;
  }

  /** Reads values up to the closing bracket, which stays. "(,a" and "(a,)" contain the empty value. */
  #valueList(): Set<string> {
    const values = new Set<string>();
    for (;;) {
      const { type, text } = this.#take();
      if (type === 'identifier') values.add(text);
      else if (type !== ',') throw new TypeError(`found '${text}', expected: ',', or identifier`);
      const isLast = type === ',' ? this.#commaEndsList(values) : this.#valueEndsList();
      if (isLast) return values;
    }
  }

  #valueEndsList(): boolean {
    const next = this.#peek();
    if (next.type === ')') return true;
    if (next.type === ',') return false;
    throw new TypeError(`found '${next.text}', expected: ',' or ')'`);
  }

  /** A comma with nothing before or after it adds the empty value. */
  #commaEndsList(values: Set<string>): boolean {
    const next = this.#peek().type;
    if (values.size === 0 || next === ')' || next === ',') values.add('');
    if (next === ',') this.#take();
    return next === ')';
  }

  /** "in" and "notin" are plain words except in the place of the operator. */
  #peek(): Token {
    const token = this.#tokens[this.#at] ?? { type: 'end', text: '' };
    return token.type === 'in' || token.type === 'notin' ? { type: 'identifier', text: token.text } : token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  #takeOperator(): Token {
    return this.#tokens[this.#at++] ?? { type: 'end', text: '' };
  }
}
