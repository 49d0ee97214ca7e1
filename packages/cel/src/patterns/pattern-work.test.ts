import { runWhole, type SlicedWork } from '@kapstan/api/internal';
import { afterEach, describe, expect, it } from 'vitest';
import { type CompiledExpression, compile, compileInSlices } from '../compile.ts';
import { CelProgramError } from '../syntax/issues.ts';
import { isCompiledPattern } from './pattern.ts';
import { answerPatternJob, type PatternJob, usePatternThread } from './pattern-work.ts';

/** Patterns are kept, so each test needs its own. */
let made = 0;
const largePattern = (): string => `${'[a-c]'.repeat(10_000)}${made++}`;

const declarations = { variables: { a: 'string', b: 'string' } };

async function waitFor<T>(work: SlicedWork<T>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await step.value;
  }
}

const compiled = (text: string): Promise<CompiledExpression> => waitFor(compileInSlices(text, { declarations }));

function pauses(work: SlicedWork<unknown>): number {
  let count = 0;
  while (work.next().done !== true) count++;
  return count;
}

let jobs: PatternJob[] = [];

function useThread(): void {
  jobs = [];
  usePatternThread({
    answer: async (job) => {
      jobs.push(job);
      return job.operation === 'check' ? { value: true } : { value: job.operation === 'matches' ? true : 'found' };
    },
  });
}

afterEach(() => usePatternThread(undefined));

describe('a large constant pattern', () => {
  it('is compiled by the thread alone', async () => {
    const pattern = largePattern();
    useThread();
    for (const [call, value] of [
      [`a.matches('${pattern}')`, true],
      [`a.find('${pattern}')`, 'found'],
    ] as const) {
      const expression = await compiled(call);
      void expression.program;
      expect(await expression.evaluateInTurns({ a: 'abc' })).toMatchObject({ value });
    }
    expect(jobs.map(({ operation }) => operation)).toEqual(['check', 'matches', 'check', 'find']);
    expect(isCompiledPattern(pattern)).toBe(false);
  });

  it('is compiled at once without a thread, and by work that cannot wait', async () => {
    const [first, second] = [largePattern(), largePattern()];
    expect(compile(`a.matches('${first}')`, { declarations }).evaluate({ a: 'abc' }).value).toBe(false);
    useThread();
    const expression = compile(`a.matches('${second}')`, { declarations });
    expect(runWhole(expression.evaluateInSlices({ a: 'abc' })).value).toBe(false);
    expect(isCompiledPattern(second)).toBe(true);
  });

  it('has the faults of a small one', async () => {
    usePatternThread({ answer: async (job) => answerPatternJob(job) });
    const wrong = `(${largePattern()}`;
    await expect(compiled(`a.matches('${wrong}')`)).rejects.toThrow('invalid matches argument');
    for (const call of [`a.find('${wrong}')`, `a.find(string('${wrong}'))`]) {
      const expression = await compiled(call);
      expect(() => expression.program).toThrow(CelProgramError);
      expect(() => expression.program).toThrow('error parsing regexp: missing closing )');
    }
  });

  it('is left to the evaluation when the thread cannot check it', async () => {
    usePatternThread({ answer: () => Promise.reject(new Error('a pattern takes more than 20 s')) });
    const expression = await compiled(`a.find('${largePattern()}') == ''`);
    expect((await expression.evaluateInTurns({ a: 'abc' })).error).toBe('a pattern takes more than 20 s');
  });
});

describe('a pattern that is not constant', () => {
  it('is compiled by the thread when it is large, with the cost of one compiled here', async () => {
    const expression = compile('a.matches(b)', { declarations });
    const activation = { a: 'abc', b: largePattern() };
    useThread();
    const { value, cost } = await expression.evaluateInTurns(activation);
    expect([value, jobs.length]).toEqual([true, 1]);
    expect(expression.evaluate(activation)).toEqual({ value: false, cost });
  });

  it('ends the evaluation with the error of the thread', async () => {
    usePatternThread({ answer: () => Promise.reject(new Error('a pattern takes more than 20 s')) });
    const expression = compile('a.matches(b) || true', { declarations });
    const { value, error } = await expression.evaluateInTurns({ a: 'abc', b: largePattern() });
    expect([value, error]).toEqual([undefined, 'a pattern takes more than 20 s']);
  });

  it('has its fault', async () => {
    usePatternThread({ answer: async (job) => answerPatternJob(job) });
    const activation = { a: 'abc', b: `(${largePattern()}` };
    for (const call of ['a.matches(b)', "a.find(b) == ''", 'a.findAll(b).size() > 0']) {
      const expression = compile(call, { declarations });
      const evaluation = await expression.evaluateInTurns(activation);
      expect(evaluation.error).toMatch(/error parsing regexp: missing closing \)/);
      expect(evaluation).toEqual(expression.evaluate(activation));
    }
  });
});

describe('work that is too much for a turn', () => {
  it('is matched by the thread', async () => {
    const expression = compile("a.matches('(a|b)*a(a|b){200}c')", { declarations });
    useThread();
    await expression.evaluateInTurns({ a: 'ab'.repeat(10_000) });
    expect(jobs.map(({ operation }) => operation)).toEqual(['matches']);
  });

  it('pauses between the matches of findAll, each of which may read the rest of the text', () => {
    const expression = compile("a.findAll('a.*b|a').size()", { declarations });
    const activation = { a: 'a'.repeat(500) };
    const work = expression.evaluateInSlices(activation);
    expect(pauses(work)).toBeGreaterThan(30);
    expect(runWhole(expression.evaluateInSlices(activation))).toEqual(expression.evaluate(activation));
    for (const limit of [-1, 0, 1, 3]) {
      const limited = compile(`a.findAll('a*?|b', ${limit})`, { declarations });
      const some = { a: 'aab'.repeat(100) };
      expect(runWhole(limited.evaluateInSlices(some, { firstTryCost: 0 }))).toEqual(limited.evaluate(some));
    }
  });

  it('has the thread find all matches of a long text', async () => {
    const expression = compile("a.findAll('a.*b|a').size()", { declarations });
    usePatternThread({ answer: async (job) => (job.text.length < 2_000 ? { fault: job.text } : { value: ['a'] }) });
    expect(await expression.evaluateInTurns({ a: 'a'.repeat(2_000) })).toMatchObject({ value: 1 });
    expect(await expression.evaluateInTurns({ a: 'a'.repeat(300) })).toMatchObject({ value: 300 });
  });

  it('pauses between many small patterns when they are compiled', () => {
    const patterns = Array.from({ length: 500 }, (_, at) => `a.matches('x[a-z]{20}${at}')`);
    expect(pauses(compileInSlices(patterns.join(' || '), { declarations }))).toBeGreaterThan(80);
  });

  it('pauses between many small matches, also of different evaluations', () => {
    const expression = compile("a.matches('(a|b)*c')", { declarations });
    let count = 0;
    for (let at = 0; at < 100; at++) count += pauses(expression.evaluateInSlices({ a: 'ab'.repeat(300) }));
    expect(count).toBeGreaterThan(10);
  });
});
