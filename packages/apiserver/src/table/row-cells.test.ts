import { ExactNumber } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { Age, timeSince } from './age.ts';
import { cellsAt, RowCells } from './row-cells.ts';

const nowMs = Date.parse('2026-01-01T01:00:00Z');
const hourAgo = new Age(nowMs - 3_600_000);
const restarts = new Age(nowMs - 60_000, { before: '2 (', after: ' ago)' });

it('a missing time is unknown', () => {
  expect([timeSince(undefined), timeSince(null), timeSince(''), timeSince('soon')]).toEqual(Array(4).fill('<unknown>'));
});

describe('the cells of a row', () => {
  it.each([
    ['no cells', []],
    ['no age', ['a', 1, null, true, ['b'], '"\\']],
    ['one age alone', [hourAgo]],
    ['an age first', [hourAgo, 'a']],
    ['an age last', ['a', hourAgo]],
    ['ages side by side', ['a', restarts, hourAgo, 'b']],
    ['a cell without a value', [undefined, hourAgo, undefined]],
  ])('are the same JSON with %s', (_what, cells) => {
    const row = new RowCells(cells);
    for (const atMs of [nowMs, nowMs + 1_000, nowMs + 86_400_000])
      expect(row.at(atMs)).toBe(JSON.stringify(cellsAt(cells, atMs)));
  });

  it('show a later age each time that they are computed', () => {
    const row = new RowCells(['a', restarts, hourAgo]);
    expect(row.at(nowMs)).toBe('["a","2 (60s ago)","60m"]');
    expect(row.at(nowMs + 3_600_000)).toBe('["a","2 (61m ago)","120m"]');
  });

  it('recognise an age made by another copy of the module, as in a bundle', async () => {
    const copy: string = './age.ts?copy';
    const { Age: OtherAge } = (await import(copy)) as { Age: typeof Age };
    const cells = ['a', new OtherAge(nowMs - 60_000)];
    expect(cells[1]).not.toBeInstanceOf(Age);
    expect([new RowCells(cells).at(nowMs), cellsAt(cells, nowMs)]).toEqual(['["a","60s"]', ['a', '60s']]);
  });

  it('keep numbers digit for digit', () => {
    expect(new RowCells([new ExactNumber('12345678901234567890')]).at(nowMs)).toBe('[12345678901234567890]');
  });
});
