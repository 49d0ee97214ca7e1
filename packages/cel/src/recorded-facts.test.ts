import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { answer, type RecordedAnswer, type RecordedQuestion } from './testing/recorded-case.ts';

interface RecordedCase extends RecordedQuestion, RecordedAnswer {
  readonly costRange?: { readonly min: string; readonly max: string };
}

const folder = new URL('../fixtures/expressions/', import.meta.url);
const topics = readdirSync(folder).map((file) => file.replace('.json', ''));

function sortMaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMaps);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const sorted = sortMaps(item);
    if (key === 'map' && Array.isArray(sorted))
      sorted.sort((a, b) => (JSON.stringify(a[0]) < JSON.stringify(b[0]) ? -1 : 1));
    return [key, key === 'double' ? String(Number(sorted)) : sorted];
  });
  return Object.fromEntries(entries);
}

describe.each(topics)('recorded expressions: %s', (topic) => {
  const cases = JSON.parse(readFileSync(new URL(`${topic}.json`, folder), 'utf8')) as RecordedCase[];

  it.each(cases.map((each) => [each.id, each.expr.slice(0, 80), each] as const))(
    'gives what is recorded: %s %s',
    (_, __, want) => {
      const got = answer(want);
      expect(answer(want, 'slices')).toEqual(got);
      if (want.compileError !== undefined) return expect(got.compileError).toBe(want.compileError);
      expect(got.type).toBe(want.type);
      expect(got.estimate).toEqual(want.estimate);
      if (want.programError !== undefined) return expect(got.programError ?? got.error).toBe(want.programError);
      expect(got.error).toBe(want.error);
      expect(sortMaps(got.result)).toEqual(sortMaps(want.result));
      if (want.cost !== undefined) expect(got.cost).toBe(want.cost);
      if (want.costRange !== undefined) {
        expect(Number(got.cost)).toBeGreaterThanOrEqual(Number(want.costRange.min));
        expect(Number(got.cost)).toBeLessThanOrEqual(Number(want.costRange.max));
      }
    },
  );
});
