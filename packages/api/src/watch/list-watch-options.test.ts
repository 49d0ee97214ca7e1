import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { defaultListWatchOptions, resolveListWatchOptions } from './list-watch-options.ts';

describe('options of the list/watch machine', () => {
  const text = readFileSync(new URL('./list-watch-options.ts', import.meta.url), 'utf8');
  // A comment of several lines becomes one line.
  const source = text.replaceAll(/\n\s+(?:\* |(?=\*\/))/g, ' ');

  it.each(['useWatchList', 'pageSize', 'minWatchTimeoutMs', 'idleTimeoutMs', 'internalErrorRetryMs'] as const)(
    'documents the default of %s as it is',
    (name) => {
      const comment = new RegExp(String.raw`/\*\*([^\n]*)\*/\s+readonly ${name}\?`).exec(source)?.[1] ?? '';
      const stated = /Default ([\w]+(?: \d{3})*)|the default, (\d+ \d{3})|(\d+) \(default\)/.exec(comment);
      const text = (stated?.[1] ?? stated?.[2] ?? stated?.[3] ?? '').replaceAll(' ', '');
      expect(text).toBe(String(defaultListWatchOptions[name]));
    },
  );

  it('fills in what is left out, once', () => {
    expect(resolveListWatchOptions({})).toEqual(defaultListWatchOptions);
    expect(resolveListWatchOptions({ idleTimeoutMs: 0, useWatchList: false })).toMatchObject({
      idleTimeoutMs: 0,
      useWatchList: false,
    });
  });
});
