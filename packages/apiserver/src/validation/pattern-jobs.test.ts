import { beforeAll, expect, it, vi } from 'vitest';

// Servers of other files in this worker share the thread of the modules that they loaded.
let cel: typeof import('@kapstan/cel');
let jobs: typeof import('./pattern-jobs.ts');
beforeAll(async () => {
  vi.resetModules();
  cel = await import('@kapstan/cel');
  jobs = await import('./pattern-jobs.ts');
});

/** Returns how often the compilation waits for the thread, and its error. */
async function compiled(pattern: string): Promise<{ readonly waits: number; readonly error: string | undefined }> {
  const work = cel.compileInSlices(`a.matches('${pattern}')`, { declarations: { variables: { a: 'string' } } });
  let waits = 0;
  try {
    for (;;) {
      const { done, value } = work.next();
      if (done === true) return { waits, error: undefined };
      if (value === undefined) continue;
      waits += 1;
      await value;
    }
  } catch (error) {
    return { waits, error: (error as Error).message };
  }
}

const large = '[a-c]'.repeat(3_000);

it('has large patterns compiled by a thread until its last user has gone', { timeout: 120_000 }, async () => {
  const ends = [jobs.sharePatternThread(), jobs.sharePatternThread()];
  await ends[0]?.();
  expect(await compiled(`${large}1`)).toEqual({ waits: 1, error: undefined });
  const wrong = await compiled(`(${large}`);
  expect([wrong.waits, wrong.error]).toEqual([1, expect.stringContaining('invalid matches argument')]);
  expect(await compiled('[a-c]+')).toEqual({ waits: 0, error: undefined });
  await ends[1]?.();
  expect(await compiled(`${large}2`)).toEqual({ waits: 0, error: undefined });
});

it('refuses jobs beyond a hundred that wait', { timeout: 120_000 }, async () => {
  const own = new jobs.PatternJobs();
  const job = { operation: 'matches', pattern: `${large}3`, text: 'a', limit: 0 } as const;
  const answers = Array.from({ length: 101 }, () => own.answer(job).catch((error: Error) => error.message));
  expect(await answers[100]).toContain('too many large patterns wait to be matched');
  expect(await answers[0]).toEqual({ value: false });
  expect(await own.answer(job)).toEqual({ value: false });
  await own.close();
});

it('leaves a pattern to the evaluation when the thread cannot check it', async () => {
  cel.usePatternThread({ answer: () => Promise.reject(new Error('busy')) });
  try {
    expect(await compiled(`${large}4`)).toEqual({ waits: 1, error: undefined });
  } finally {
    cel.usePatternThread(undefined);
  }
});
