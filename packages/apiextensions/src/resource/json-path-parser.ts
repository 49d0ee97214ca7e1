// Parses JSONPath as in kubectl and printer columns into steps. json-path.ts walks them. Source: client-go
// util/jsonpath parser.go.

export type PathOperator = '==' | '!=' | '<' | '<=' | '>' | '>=';

/** One side of a filter: a path from the item, or a value. */
export type PathOperand =
  | { readonly type: 'path'; readonly steps: readonly PathStep[] }
  | { readonly type: 'value'; readonly value: string | number | boolean };

export type PathStep =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'wildcard' }
  | { readonly type: 'recursive' }
  | { readonly type: 'slice'; readonly from?: number; readonly to?: number; readonly step: number }
  | { readonly type: 'index'; readonly index: number }
  | { readonly type: 'union'; readonly branches: readonly PathStep[] }
  | { readonly type: 'exists'; readonly operand: PathOperand }
  | {
      readonly type: 'compare';
      readonly left: PathOperand;
      readonly operator: PathOperator;
      readonly right: PathOperand;
    };

/** Returns the steps of ".spec.list[?(@.type=="x")].value". Throws SyntaxError. */
export function parseJsonPath(text: string): readonly PathStep[] {
  return new Parser(text).path();
}

const comparison = /^(==|!=|<=|>=|<|>)/;
const integer = /^-?\d+$/;

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  path(): PathStep[] {
    const steps: PathStep[] = [];
    if (this.#peek() === '$' || this.#peek() === '@') this.#at++;
    while (this.#at < this.#text.length) this.#step(steps);
    return steps;
  }

  #step(steps: PathStep[]): void {
    if (this.#peek() === '[') {
      steps.push(this.#bracket());
      return;
    }
    if (this.#peek() !== '.') throw this.#error(`unexpected character ${JSON.stringify(this.#peek())}`);
    this.#at++;
    if (this.#peek() === '.') {
      this.#at++;
      steps.push({ type: 'recursive' });
    }
    // "." alone is the object itself; a bracket may follow directly.
    if (this.#at >= this.#text.length || this.#peek() === '[') return;
    const name = this.#name();
    steps.push(name === '*' ? { type: 'wildcard' } : { type: 'field', name });
  }

  #name(): string {
    let name = '';
    while (this.#at < this.#text.length && !/[.[\]\s]/.test(this.#peek())) {
      if (this.#peek() === '\\') this.#at++;
      name += this.#text[this.#at++] ?? '';
    }
    if (name === '') throw this.#error('expected a field name');
    return name;
  }

  #bracket(): PathStep {
    const body = this.#bracketBody().trim();
    if (body.startsWith('?(') && body.endsWith(')')) return filterStep(body.slice(2, -1).trim());
    const parts = splitOutsideQuotes(body, ',');
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return bracketStep(only.trim());
    return { type: 'union', branches: parts.map((part) => bracketStep(part.trim())) };
  }

  /** Returns the text between the brackets, including brackets and quotes inside. */
  #bracketBody(): string {
    const start = ++this.#at;
    let depth = 1;
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#peek();
      if (char === '"' || char === "'") this.#skipQuoted(char);
      else if (char === '[') depth++;
      else if (char === ']' && --depth === 0) return this.#text.slice(start, this.#at++);
    }
    throw this.#error('unterminated array');
  }

  /** Skips to the closing quote. */
  #skipQuoted(quote: string): void {
    for (this.#at++; this.#at < this.#text.length && this.#peek() !== quote; this.#at++) {
      if (this.#peek() === '\\') this.#at++;
    }
  }

  #peek(): string {
    return this.#text[this.#at] ?? '';
  }

  #error(why: string): SyntaxError {
    return new SyntaxError(`${why} at ${this.#at} in ${JSON.stringify(this.#text)}`);
  }
}

function bracketStep(text: string): PathStep {
  if (text === '*') return { type: 'wildcard' };
  if (/^(['"]).*\1$/.test(text) && text.length > 1) return { type: 'field', name: unquote(text) };
  if (integer.test(text)) return { type: 'index', index: Number(text) };
  const [from = '', to = '', step = '', ...rest] = text.split(':').map((part) => part.trim());
  const isSlice = text.includes(':') && rest.length === 0;
  if (!isSlice || [from, to, step].some((part) => part !== '' && !integer.test(part))) {
    throw new SyntaxError(`invalid array index ${text}`);
  }
  return {
    type: 'slice',
    ...(from === '' ? {} : { from: Number(from) }),
    ...(to === '' ? {} : { to: Number(to) }),
    step: step === '' ? 1 : Number(step),
  };
}

function filterStep(text: string): PathStep {
  const cut = operatorPosition(text);
  if (cut === undefined) return { type: 'exists', operand: operandOf(text) };
  const operator = comparison.exec(text.slice(cut))?.[1] as PathOperator;
  return {
    type: 'compare',
    left: operandOf(text.slice(0, cut).trim()),
    operator,
    right: operandOf(text.slice(cut + operator.length).trim()),
  };
}

function operatorPosition(text: string): number | undefined {
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? '';
    if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (comparison.test(text.slice(at))) return at;
  }
  return undefined;
}

function operandOf(text: string): PathOperand {
  if (/^(['"]).*\1$/.test(text) && text.length > 1) return { type: 'value', value: unquote(text) };
  if (text === 'true' || text === 'false') return { type: 'value', value: text === 'true' };
  if (/^-?\d+(\.\d+)?$/.test(text)) return { type: 'value', value: Number(text) };
  if (/^[@$.[]/.test(text)) return { type: 'path', steps: parseJsonPath(text) };
  throw new SyntaxError(`unrecognized identifier ${text}`);
}

function unquote(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/g, '$1');
}

function splitOutsideQuotes(text: string, separator: string): string[] {
  const parts: string[] = [];
  let quote = '';
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? '';
    if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === separator) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}
