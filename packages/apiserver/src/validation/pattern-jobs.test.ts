import { compileInSlices } from '@kapstan/cel';
import { expect, it } from 'vitest';
import { sharePatternThread } from './pattern-jobs.ts';

/** Returns how often the compilation waits for the thread, and its error. */
async function compiled(pattern: string): Promise<{ readonly waits: number; readonly error: string | undefined }> {
  const work = compileInSlices(`a.matches('${pattern}')`, { declarations: { variables: { a: 'string' } } });
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
  const ends = [sharePatternThread(), sharePatternThread()];
  await ends[0]?.();
  expect(await compiled(`${large}1`)).toEqual({ waits: 1, error: undefined });
  const wrong = await compiled(`(${large}`);
  expect([wrong.waits, wrong.error]).toEqual([1, expect.stringContaining('invalid matches argument')]);
  expect(await compiled('[a-c]+')).toEqual({ waits: 0, error: undefined });
  await ends[1]?.();
  expect(await compiled(`${large}2`)).toEqual({ waits: 0, error: undefined });
});
