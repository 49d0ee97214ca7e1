// ConversionFunctions are the functions of the embedding program that convert custom resources, by name of the
// definition. They may come and go while the server runs; definition-controller.ts then serves the definition again.
import type { ConvertObject } from './function-converter.ts';

interface Entry {
  readonly convert: ConvertObject;
  readonly revision: number;
}

/** The functions of a program that convert custom resources between versions, by the name of the definition. */
export class ConversionFunctions {
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<(name: string) => void>();
  #revision = 0;

  constructor(functions: Readonly<Record<string, ConvertObject>> = {}) {
    for (const [name, convert] of Object.entries(functions)) this.set(name, convert);
  }

  get(name: string): ConvertObject | undefined {
    return this.#entries.get(name)?.convert;
  }

  /** Differs between two functions of one definition. 0 = there is none. */
  revisionOf(name: string): number {
    return this.#entries.get(name)?.revision ?? 0;
  }

  /** Replaces the function of a definition; undefined = takes it away. */
  set(name: string, convert: ConvertObject | undefined): void {
    if (convert === undefined) this.#entries.delete(name);
    else this.#entries.set(name, { convert, revision: ++this.#revision });
    for (const listener of this.#listeners) listener(name);
  }

  /** Calls back with the name of each definition whose function changes. The returned function ends that. */
  follow(listener: (name: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
