// ConfigurationReader parses configuration files that change while the server runs, large ones in a thread
// (configuration-thread.ts). Used with followed-file/ for the files of authentication, authorization and encryption.
import { systemClock } from '@kapstan/api';
import { JobThread, limitedWorker } from '@kapstan/apiserver';

export interface ConfigurationJob {
  readonly kind: 'authentication' | 'authorization' | 'encryption';
  readonly text: string;
}

/** `problem`: the message of the error that parsing threw. */
export type ConfigurationAnswer = { readonly value: unknown } | { readonly problem: string };

/** Maximum length of a text that is parsed in the turn itself, in characters: 10 to 20 ms. */
const maxInTurn = 8 * 1024;
/** Longest time for one file, in milliseconds. The densest file within the limit takes 2 s of one core. */
const maxJobMs = 30_000;
/** Longest time for a thread to start, in milliseconds. */
const maxStartMs = 30_000;
/** Heap of the thread, in MiB. */
const maxHeap = 512;

/** Run from sources, the thread needs a Node that reads TypeScript: 22.18, or an older one with test/source-threads.mjs. */
const threadFile = import.meta.url.endsWith('.ts')
  ? new URL('../../src/configuration-thread.ts', import.meta.url)
  : new URL('../../dist/configuration-thread.js', import.meta.url);

export class ConfigurationReader<T> {
  readonly #kind: ConfigurationJob['kind'];
  readonly #parse: (text: string) => T;
  readonly #thread: JobThread<ConfigurationJob, ConfigurationAnswer>;

  /** `parse` does the same as the thread for this kind of file. */
  constructor(kind: ConfigurationJob['kind'], parse: (text: string) => T) {
    this.#kind = kind;
    this.#parse = parse;
    this.#thread = new JobThread({
      clock: systemClock,
      newThread: () => limitedWorker(threadFile, maxHeap),
      sizeOf: ({ text }) => text.length,
      maxJobMs,
      maxStartMs,
      tooSlow: () => new Error(`the file takes more than ${maxJobMs / 1000} s to parse`),
      failureOf: (error) => new Error(`the file cannot be parsed: ${error.message}`, { cause: error }),
    });
  }

  /** Returns the parsed text. Throws, or rejects, with its fault. */
  read(text: string): T | Promise<T> {
    return text.length <= maxInTurn ? this.#parse(text) : this.#ask(text);
  }

  /** Ends the thread; callers that wait for it get an error. Resolves when no thread is left. */
  close(): Promise<void> {
    return this.#thread.close();
  }

  async #ask(text: string): Promise<T> {
    const answer = await this.#thread.ask({ kind: this.#kind, text }, undefined);
    if ('problem' in answer) throw new Error(answer.problem);
    return answer.value as T;
  }
}
