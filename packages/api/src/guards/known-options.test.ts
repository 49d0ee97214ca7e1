import { describe, expect, it } from 'vitest';
import { requireKnownOptions } from './known-options.ts';

const names = { labelSelector: true, limit: true, dryRun: true, qps: true };
const check = (options: object) => (): void => requireKnownOptions(options, names, 'list');

describe('options by names that nobody takes', () => {
  it.each([
    ['in another case', { labelselector: 'a' }, 'labelselector', 'did you mean "labelSelector"?'],
    ['with a letter too many', { limits: 1 }, 'limits', 'did you mean "limit"?'],
    ['with two other letters', { dryWon: 1 }, 'dryWon', 'did you mean "dryRun"?'],
    ['with three other letters', { dryWin2: 1 }, 'dryWin2', 'it takes labelSelector, limit, dryRun, qps'],
    ['of another thing', { timeout: 1 }, 'timeout', 'it takes labelSelector, limit, dryRun, qps'],
    ['too short to be near any', { is: 1 }, 'is', 'it takes labelSelector, limit, dryRun, qps'],
    ['that every object inherits', { toString: 1 }, 'toString', 'it takes labelSelector, limit, dryRun, qps'],
    ['that is a prototype', JSON.parse('{"__proto__":1}'), '__proto__', 'it takes labelSelector, limit, dryRun, qps'],
    ['that they inherit', Object.create({ limt: 1 }), 'limt', 'did you mean "limit"?'],
  ])('are refused with what may have been meant: %s', (_, options, name, hint) => {
    expect(check(options)).toThrow(new TypeError(`list: unknown option ${JSON.stringify(name)}; ${hint}`));
  });

  it('are absent when they are undefined, as known ones are', () => {
    expect(check({ labelselector: undefined })).not.toThrow();
  });

  it('are named by those who take none', () => {
    const none = (): void => requireKnownOptions({ a: 1 }, {}, 'close');
    expect(none).toThrow(new TypeError('close: unknown option "a"; it takes none'));
  });
});
