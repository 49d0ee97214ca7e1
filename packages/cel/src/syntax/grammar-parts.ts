// The only network of the grammar, with its remembered decisions. It is made at the first syntax error.
import { GrammarNetwork, type Part, type State } from './grammar-network.ts';
import { Predictor } from './prediction.ts';
import type { TokenKind } from './token.ts';

class GrammarParts {
  readonly network = new GrammarNetwork();
  readonly predictor = new Predictor(this.network);
  readonly #beginnings = new Map<Part, ReadonlySet<TokenKind>>();
  readonly #starts = new Map<string, readonly State[]>();

  /** Returns the tokens with which a part begins. */
  beginning(part: Part): ReadonlySet<TokenKind> {
    const known = this.#beginnings.get(part);
    if (known !== undefined) return known;
    const made = this.#beginningOf(part);
    this.#beginnings.set(part, made);
    return made;
  }

  #beginningOf(part: Part): ReadonlySet<TokenKind> {
    const found = new Set<TokenKind>();
    if (part.type !== 'sequence') {
      for (const follower of this.network.followers(part.at)) if (follower !== 'ruleEnd') found.add(follower);
      return found;
    }
    // All sequences that a choice examines begin with a token or a rule.
    return part.parts[0] === undefined ? found : this.beginning(part.parts[0]);
  }

  /** Returns the same list for equal lists, which the predictor remembers. */
  startsOf(part: { readonly at: State }, starts: readonly State[]): readonly State[] {
    const key = `${part.at.id} ${starts.length}`;
    const known = this.#starts.get(key);
    if (known !== undefined) return known;
    this.#starts.set(key, starts);
    return starts;
  }
}

let made: GrammarParts | undefined;

export const grammarParts = {
  get network(): GrammarNetwork {
    return parts().network;
  },
  get predictor(): Predictor {
    return parts().predictor;
  },
  beginning: (part: Part): ReadonlySet<TokenKind> => parts().beginning(part),
  startsOf: (part: { readonly at: State }, starts: readonly State[]): readonly State[] =>
    parts().startsOf(part, starts),
};

function parts(): GrammarParts {
  made ??= new GrammarParts();
  return made;
}
