// PatternJobs has patterns of expressions compiled and matched by a thread when that takes longer than a turn
// (validation/pattern-thread.ts). All servers of a process share one, because an expression does not know its server.
import { systemClock } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import {
  type PatternAnswer,
  type PatternJob,
  type PatternThread,
  patternSize,
  stepsToCompile,
  usePatternThread,
} from '@kapstan/cel';
import { JobThread } from '../schema/job-thread.ts';
import { limitedWorker } from '../schema/limited-worker.ts';

/** Longest time for one job. The largest pattern that RE2 allows takes some seconds of one core to compile. */
const maxJobMs = 20_000;
const maxStartMs = 30_000;
/** Heap of the thread, in MiB. */
const maxHeap = 768;
/** Maximum number of jobs that wait, and of characters of their patterns and texts: their requests may have ended. */
const maxWaiting = { jobs: 100, characters: 16 * 1024 * 1024 } as const;

/** Run from sources, the thread needs a Node that reads TypeScript: 22.18, or an older one with test/source-threads.mjs. */
const threadFile = import.meta.url.endsWith('.ts')
  ? new URL('./pattern-thread.ts', import.meta.url)
  : new URL('./pattern-thread.js', import.meta.url);

/** The thread's jobs of one process. */
export class PatternJobs implements PatternThread {
  #jobs = 0;
  #characters = 0;
  readonly #thread = new JobThread<PatternJob, PatternAnswer>({
    clock: systemClock,
    newThread: () => limitedWorker(threadFile, maxHeap),
    sizeOf: ({ pattern, text }) => patternSize(pattern) * (stepsToCompile + text.length),
    maxJobMs,
    maxStartMs,
    tooSlow: () => internalError(`a pattern takes more than ${maxJobMs / 1000} s`),
    failureOf: ({ message }) => internalError(`a pattern cannot be matched: ${message}`),
  });

  async answer(job: PatternJob): Promise<PatternAnswer> {
    const characters = job.pattern.length + job.text.length;
    if (this.#jobs >= maxWaiting.jobs || this.#characters + characters > maxWaiting.characters)
      throw internalError('too many large patterns wait to be matched');
    this.#jobs += 1;
    this.#characters += characters;
    try {
      return await this.#thread.ask(job, undefined);
    } finally {
      this.#jobs -= 1;
      this.#characters -= characters;
    }
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}

let shared: PatternJobs | undefined;
let users = 0;

/**
 * Has large patterns of expressions compiled and matched by one thread of the process, for all servers in it. Call the returned function when
 * a server closes: the thread ends with its last user.
 */
export function sharePatternThread(): () => Promise<void> {
  shared ??= new PatternJobs();
  usePatternThread(shared);
  users += 1;
  return async () => {
    users -= 1;
    if (users > 0) return;
    const last = shared;
    shared = undefined;
    usePatternThread(undefined);
    await last?.close();
  };
}
