// Correlation follows a walk through an object and its old state, as far as their places can be matched. Source:
// apiextensions pkg/apiserver/schema/cel ratchetingOptions.
import type { CorrelatedObject } from '@kapstan/apiserver/internal';

export class Correlation {
  /** Stands for the old value in a create, and for old values that cannot be matched. */
  static readonly none: Correlation = new Correlation(undefined, undefined);

  readonly #here: CorrelatedObject | undefined;
  /** The nearest ancestor whose old value is known. */
  readonly #above: CorrelatedObject | undefined;

  constructor(here: CorrelatedObject | undefined, above: CorrelatedObject | undefined) {
    this.#here = here;
    this.#above = above;
  }

  /** True when nothing has changed here, so that stricter rules do no harm. */
  get isUnchanged(): boolean {
    return (this.#here ?? this.#above)?.isUnchanged === true;
  }

  key(name: string): Correlation {
    if (this.#here === undefined) return this;
    // Old and new object have the same kind and version, whatever was stored.
    if (this.#above === undefined && (name === 'apiVersion' || name === 'kind')) return Correlation.none;
    return new Correlation(this.#here.key(name), this.#here);
  }

  index(index: number): Correlation {
    return this.#here === undefined ? this : new Correlation(this.#here.index(index), this.#here);
  }
}
