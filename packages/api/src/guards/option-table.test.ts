import { describe, expect, it } from 'vitest';
import { type OptionTable, objectWith, optional, requireBoolean, requireOptions } from './option-table.ts';
import { requireNotNegative } from './required.ts';

interface Options {
  readonly client: object;
  readonly timeoutMs?: number;
  readonly isQuiet?: boolean;
}

const table: OptionTable<Options> = {
  client: objectWith('get'),
  timeoutMs: optional(requireNotNegative),
  isQuiet: optional(requireBoolean),
};
const client = { get: () => undefined };

describe('requireOptions', () => {
  it('takes options that are fit, and those that are absent or undefined', () => {
    expect(() =>
      requireOptions({ client, isQuiet: true, timeoutMs: undefined } as never, table, 'a part'),
    ).not.toThrow();
  });

  it.each([
    [
      'a name that nobody takes',
      { client, timeoutMS: 1 },
      'a part: unknown option "timeoutMS"; did you mean "timeoutMs"?',
    ],
    ['a value that is not fit', { client, timeoutMs: -1 }, 'timeoutMs must be a number of at least 0'],
    ['a value of another type', { client, isQuiet: 'yes' }, 'isQuiet must be true or false, not "yes"'],
    ['an option that is needed and absent', {}, 'client needs the function get'],
  ])('refuses %s', (_what, options, text) => {
    expect(() => requireOptions(options as never, table, 'a part')).toThrow(text);
  });
});
