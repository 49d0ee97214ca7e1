// Scope: the variables that comprehensions declare, innermost first.
import type { CelType } from '../types/cel-type.ts';

export class Scope {
  readonly #outer: Scope | undefined;
  readonly #types: ReadonlyMap<string, CelType>;

  constructor(outer: Scope | undefined, variables: readonly (readonly [name: string, type: CelType])[]) {
    this.#outer = outer;
    this.#types = new Map(variables);
  }

  find(name: string): CelType | undefined {
    return this.#types.get(name) ?? this.#outer?.find(name);
  }
}
