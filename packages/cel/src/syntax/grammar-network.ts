// GrammarNetwork: the grammar as a network of states, as ANTLR compiles it. It shows which tokens may follow a state.
import { type Choice, type GrammarNode, grammar, type RuleName } from './grammar.ts';
import type { TokenKind } from './token.ts';

/** The states at which a parser that meets a wrong token repairs its input. */
export type Role = 'blockStart' | 'loopEntry' | 'loopBack' | 'plain';

export interface State {
  readonly id: number;
  readonly role: Role;
  readonly rule: RuleName;
  /** States that are reached without a token. */
  readonly free: State[];
  /** Tokens that lead to {@link next}. */
  tokens?: ReadonlySet<TokenKind>;
  /** The rule that is read here; parsing then continues at {@link next}. */
  calls?: RuleName;
  next?: State;
  isStop: boolean;
}

/** A part of the grammar with its states. */
export type Part =
  | { readonly type: 'token'; readonly at: State; readonly kinds: ReadonlySet<TokenKind> }
  | { readonly type: 'rule'; readonly at: State; readonly name: RuleName; readonly precedence: number }
  | { readonly type: 'sequence'; readonly parts: readonly Part[]; readonly precedence: number }
  | ChoicePart;

export interface ChoicePart {
  readonly type: 'choice' | 'optional' | 'star' | 'plus';
  readonly by: Choice;
  readonly alternatives: readonly Part[];
  /** The state of the choice. */
  readonly at: State;
  /** The state at the end of a round of a loop. */
  readonly back: State;
  /** The states at which the alternatives begin; the last one of a loop leaves it. */
  readonly starts: readonly State[];
}

/** Marks the end of the rule in a set of tokens. */
export type Follower = TokenKind | 'ruleEnd';

export class GrammarNetwork {
  readonly states: State[] = [];
  readonly starts = {} as Record<RuleName, State>;
  readonly stops = {} as Record<RuleName, State>;
  readonly parts = {} as Record<RuleName, Part>;
  /** The states after each call of a rule. */
  readonly returns = {} as Record<RuleName, State[]>;
  readonly #followers = new Map<State, ReadonlySet<Follower>>();

  constructor() {
    const names = Object.keys(grammar) as RuleName[];
    for (const name of names) {
      this.starts[name] = this.#state(name);
      this.stops[name] = this.#state(name);
      this.stops[name].isStop = true;
      this.returns[name] = [];
    }
    for (const name of names) {
      const built = this.#build(grammar[name], name);
      this.starts[name].free.push(built.from);
      built.to.free.push(this.stops[name]);
      this.parts[name] = built.part;
    }
  }

  /** Returns the tokens that may come next at a state, within its rule. */
  followers(state: State): ReadonlySet<Follower> {
    const known = this.#followers.get(state);
    if (known !== undefined) return known;
    const found = new Set<Follower>();
    this.#collect(state, { found, seen: new Set() });
    this.#followers.set(state, found);
    return found;
  }

  #collect(state: State, walk: { readonly found: Set<Follower>; readonly seen: Set<State> }): void {
    if (walk.seen.has(state)) return;
    walk.seen.add(state);
    if (state.isStop) walk.found.add('ruleEnd');
    for (const kind of state.tokens ?? []) walk.found.add(kind);
    for (const next of state.free) this.#collect(next, walk);
    if (state.calls === undefined || state.next === undefined) return;
    const inside = this.followers(this.starts[state.calls]);
    for (const follower of inside) if (follower !== 'ruleEnd') walk.found.add(follower);
    if (inside.has('ruleEnd')) this.#collect(state.next, walk);
  }

  #state(rule: RuleName, role: Role = 'plain'): State {
    const state: State = { id: this.states.length, role, rule, free: [], isStop: false };
    this.states.push(state);
    return state;
  }

  #build(node: GrammarNode, rule: RuleName): Built {
    switch (node.type) {
      case 'token': {
        const [from, to] = [this.#state(rule), this.#state(rule)];
        const kinds = new Set(node.kinds);
        Object.assign(from, { tokens: kinds, next: to });
        return { part: { type: 'token', at: from, kinds }, from, to };
      }
      case 'rule': {
        const [from, to] = [this.#state(rule), this.#state(rule)];
        Object.assign(from, { calls: node.name, next: to });
        this.returns[node.name].push(to);
        return { part: { type: 'rule', at: from, name: node.name, precedence: node.precedence }, from, to };
      }
      case 'sequence':
        return this.#sequence(node.parts, rule, node.precedence ?? 0);
      default:
        return this.#choice(node, rule);
    }
  }

  #sequence(nodes: readonly GrammarNode[], rule: RuleName, precedence: number): Built {
    const from = this.#state(rule);
    let to = from;
    const parts: Part[] = [];
    for (const node of nodes) {
      const built = this.#build(node, rule);
      to.free.push(built.from);
      to = built.to;
      parts.push(built.part);
    }
    return { part: { type: 'sequence', parts, precedence }, from, to };
  }

  #choice({ type, by, alternatives }: ChoiceNode, rule: RuleName): Built {
    const at = this.#state(rule, type === 'star' ? 'loopEntry' : 'blockStart');
    const back = this.#state(rule, 'loopBack');
    const end = this.#state(rule);
    const built = alternatives.map((alternative) => this.#build(alternative, rule));
    for (const { from, to } of built) {
      at.free.push(from);
      to.free.push(type === 'star' || type === 'plus' ? back : end);
    }
    if (type === 'star') back.free.push(at);
    if (type === 'plus') back.free.push(at, end);
    if (type === 'star' || type === 'optional') at.free.push(end);
    const starts = [...built.map(({ from }) => from), end];
    return { part: { type, by, alternatives: built.map(({ part }) => part), at, back, starts }, from: at, to: end };
  }
}

type ChoiceNode = Extract<GrammarNode, { readonly alternatives: readonly GrammarNode[] }>;

interface Built {
  readonly part: Part;
  readonly from: State;
  readonly to: State;
}
