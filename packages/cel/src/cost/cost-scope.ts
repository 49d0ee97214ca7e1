// CostScope: the estimate's knowledge about the variables of macros.
import type { TypeKind } from '../types/cel-type.ts';
import type { Range } from './range.ts';

/** Sizes of the keys and values of a list or map. */
export interface EntrySize {
  readonly kind: TypeKind;
  readonly key: Range;
  readonly value: Range;
}

export interface LocalVariable {
  readonly path: readonly string[] | undefined;
  readonly size: Range | undefined;
  readonly entrySize: EntrySize | undefined;
}

export class CostScope {
  readonly #variables = new Map<string, LocalVariable[]>();

  push(name: string, variable: LocalVariable): void {
    const stack = this.#variables.get(name);
    if (stack === undefined) this.#variables.set(name, [variable]);
    else stack.push(variable);
  }

  pop(name: string): void {
    this.#variables.get(name)?.pop();
  }

  find(name: string): LocalVariable | undefined {
    return this.#variables.get(name)?.at(-1);
  }
}
