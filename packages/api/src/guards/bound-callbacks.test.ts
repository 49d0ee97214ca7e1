import { describe, expect, it } from 'vitest';
import { boundCallbacks } from './bound-callbacks.ts';

interface Options {
  readonly selector?: string;
  readonly limit?: number;
  onError?(): unknown;
  compare?(): unknown;
}

class OptionsOfApp implements Options {
  readonly limit = 3;
  readonly #app = 'web';

  get selector(): string {
    return `app=${this.#app}`;
  }

  onError(): string {
    return this.selector;
  }

  compare(): unknown {
    return this;
  }
}

describe('boundCallbacks', () => {
  it('has what an instance of a class has, inherits and computes', () => {
    class Narrower extends OptionsOfApp {}
    const { selector, limit } = boundCallbacks<Options>(new Narrower(), ['onError']);
    expect([selector, limit]).toEqual(['app=web', 3]);
  });

  it('has what an object inherits from another', () => {
    expect(boundCallbacks<Options>(Object.create({ selector: 'a=b' }), []).selector).toBe('a=b');
  });

  it('calls the functions that are named as methods of the original, and leaves the others as they are', () => {
    const options = new OptionsOfApp();
    const { onError, compare } = boundCallbacks<Options>(options, ['onError']);
    expect(onError?.()).toBe('app=web');
    expect(compare).toBe(OptionsOfApp.prototype.compare);
  });

  it('takes plain objects and those without a prototype as they are', () => {
    expect(boundCallbacks<Options>({ limit: 1 }, [])).toEqual({ limit: 1 });
    expect(boundCallbacks<Options>(Object.assign(Object.create(null), { limit: 1 }), [])).toEqual({ limit: 1 });
  });
});
