import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { answer } from '../testing/recorded-case.ts';

interface RecordedError {
  readonly expr: string;
  readonly error: string;
}

const recorded = JSON.parse(
  readFileSync(new URL('../../fixtures/syntax-errors.json', import.meta.url), 'utf8'),
) as readonly RecordedError[];

const errorOf = (expr: string): string | undefined =>
  answer({ expr, vars: Object.fromEntries([...'abcix'].map((name) => [name, { type: 'dyn' }])) }).compileError;

describe('errors of syntax', () => {
  it.each(recorded.map(({ expr, error }) => [expr, error] as const))('are those of cel-go: %s', (expr, error) => {
    expect(errorOf(expr)).toBe(error);
  });

  it('stop at the limits on repairs', () => {
    expect(errorOf(`a ${'b a) '.repeat(200)}`)?.match(/^ERROR/gm)?.length).toBeLessThanOrEqual(32);
    expect(errorOf(`[a b ${'c '.repeat(1000)}`)).toContain('error recovery token lookahead limit exceeded: 256');
  });

  it('of deep and long texts are found within limits', () => {
    const tooDeep = 'expression recursion limit exceeded: 250';
    expect(errorOf('('.repeat(90_000))).toContain(tooDeep);
    expect(errorOf(`) ${'('.repeat(90_000)}`)).toContain(tooDeep);
    expect(errorOf(`a b ${'-'.repeat(90_000)}`)).toContain('Syntax error');
    expect(errorOf(`${'a.b.'.repeat(20_000)} )`)).toContain('Syntax error');
  });
});
