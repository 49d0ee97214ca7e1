// Chooses an alternative by as many tokens as necessary, knowing only the rule that contains the choice. Source: ANTLR's adaptive
// prediction with local context. Results are remembered, so a choice costs one step per token.
import type { GrammarNetwork, State } from './grammar-network.ts';
import type { TokenKind } from './token.ts';

/** The rules that are being read, innermost first. Interned: equal stacks are the same object. */
interface Stack {
  readonly id: number;
  readonly returnTo: State;
  readonly below: Stack | undefined;
}

interface Configuration {
  readonly state: State;
  readonly alternative: number;
  readonly stack: Stack | undefined;
  /** True when the rule of the choice has been left. */
  readonly hasLeft: boolean;
}

interface Step {
  readonly configurations: readonly Configuration[];
  readonly next: Map<TokenKind, Step>;
  /** The alternative that is chosen here, or undefined. */
  readonly chosen: number | undefined;
}

/** The number of an alternative, from 1, or the number of tokens after which none was left. */
export type Prediction = { readonly alternative: number } | { readonly failedAt: number };

/** Maximum number of remembered steps. */
const maxSteps = 10_000;

export class Predictor {
  readonly #network: GrammarNetwork;
  readonly #first = new Map<readonly State[], Step>();
  readonly #steps = new Map<string, Step>();
  readonly #stacks = new Map<string, Stack>();

  constructor(network: GrammarNetwork) {
    this.#network = network;
  }

  /** `kindAt` returns the kind of a token ahead, from 0. */
  predict(starts: readonly State[], kindAt: (ahead: number) => TokenKind): Prediction {
    let step = this.#start(starts);
    for (let ahead = 0; ; ahead++) {
      const kind = kindAt(ahead);
      const next = this.#next(step, kind);
      if (next.configurations.length === 0) {
        // A choice that may end its rule leaves the fault to the caller.
        const ended = step.configurations.filter(({ hasLeft, state }) => hasLeft || state.isStop);
        return ended.length > 0
          ? { alternative: Math.min(...ended.map(({ alternative }) => alternative)) }
          : { failedAt: ahead };
      }
      if (next.chosen !== undefined) return { alternative: next.chosen };
      if (kind === 'end') return { alternative: lowest(next.configurations) };
      step = next;
    }
  }

  #start(starts: readonly State[]): Step {
    const known = this.#first.get(starts);
    if (known !== undefined) return known;
    const reached = new Reached(this.#network, this.#stacks);
    starts.forEach((state, index) => {
      reached.add({ state, alternative: index + 1, stack: undefined, hasLeft: false });
    });
    const step = { configurations: reached.list, next: new Map(), chosen: undefined };
    this.#first.set(starts, step);
    return step;
  }

  #next(step: Step, kind: TokenKind): Step {
    const known = step.next.get(kind);
    if (known !== undefined) return known;
    const reached = new Reached(this.#network, this.#stacks);
    for (const configuration of step.configurations) {
      const { tokens, next } = configuration.state;
      if (tokens?.has(kind) === true && next !== undefined) reached.add({ ...configuration, state: next });
    }
    const made = this.#stepOf(reached.list);
    step.next.set(kind, made);
    return made;
  }

  /** Equal steps are merged, so that the remembered decisions do not grow with the text. */
  #stepOf(configurations: readonly Configuration[]): Step {
    const key = configurations.map((one) => `${one.alternative} ${one.hasLeft} ${placeOf(one)}`).join();
    const known = this.#steps.get(key);
    if (known !== undefined) return known;
    const made = { configurations, next: new Map(), chosen: chosenOf(configurations) };
    if (this.#steps.size >= maxSteps) {
      this.#steps.clear();
      this.#first.clear();
    }
    this.#steps.set(key, made);
    return made;
  }
}

/** The configurations that are reached without a token. */
class Reached {
  readonly list: Configuration[] = [];
  readonly #seen = new Set<string>();
  readonly #network: GrammarNetwork;
  readonly #stacks: Map<string, Stack>;

  constructor(network: GrammarNetwork, stacks: Map<string, Stack>) {
    this.#network = network;
    this.#stacks = stacks;
  }

  add(first: Configuration): void {
    const waiting = [first];
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      const key = `${one.alternative} ${one.hasLeft} ${placeOf(one)}`;
      if (this.#seen.has(key)) continue;
      this.#seen.add(key);
      if (one.state.tokens !== undefined) this.list.push(one);
      waiting.push(...this.#onward(one));
    }
  }

  #onward(one: Configuration): Configuration[] {
    const { state, stack } = one;
    if (state.calls !== undefined && state.next !== undefined) {
      return [{ ...one, state: this.#network.starts[state.calls], stack: this.#push(state.next, stack) }];
    }
    if (!state.isStop) return state.free.map((next) => ({ ...one, state: next }));
    if (stack !== undefined) return [{ ...one, state: stack.returnTo, stack: stack.below }];
    const returns = this.#network.returns[state.rule];
    if (returns.length === 0) this.list.push(one);
    return returns.map((next) => ({ ...one, state: next, hasLeft: true }));
  }

  #push(returnTo: State, below: Stack | undefined): Stack {
    const key = `${returnTo.id} ${below?.id ?? ''}`;
    const known = this.#stacks.get(key);
    if (known !== undefined) return known;
    const made = { id: this.#stacks.size, returnTo, below };
    this.#stacks.set(key, made);
    return made;
  }
}

function placeOf({ state, stack }: Configuration): string {
  return `${state.id} ${stack?.id ?? ''}`;
}

/**
 * Returns the only alternative left, or the lowest of several that more input is unlikely to separate: some are at the same place, and no
 * state belongs to one alone.
 */
function chosenOf(configurations: readonly Configuration[]): number | undefined {
  if (configurations.length === 0) return undefined;
  const all = new Set(configurations.map(({ alternative }) => alternative));
  if (all.size === 1) return lowest(configurations);
  const byPlace = alternativesBy(configurations, placeOf);
  const byState = alternativesBy(configurations, ({ state }) => String(state.id));
  const isConflict = byPlace.some(({ size }) => size > 1) && byState.every(({ size }) => size > 1);
  return isConflict ? Math.min(...all) : undefined;
}

function alternativesBy(
  configurations: readonly Configuration[],
  keyOf: (one: Configuration) => string,
): readonly ReadonlySet<number>[] {
  const groups = new Map<string, Set<number>>();
  for (const one of configurations) {
    const key = keyOf(one);
    const group = groups.get(key) ?? new Set();
    groups.set(key, group.add(one.alternative));
  }
  return [...groups.values()];
}

function lowest(configurations: readonly Configuration[]): number {
  return Math.min(...configurations.map(({ alternative }) => alternative));
}
