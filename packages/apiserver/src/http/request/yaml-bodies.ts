// YamlBodies has long YAML bodies read by a thread (schema/yaml-thread.ts) before the turn that decodes them. Each
// server has one; resource-call.ts and patch-handler.ts use it.
import type { Worker } from 'node:worker_threads';
import type { Clock } from '@kapstan/api';
import { internalError, requestEntityTooLarge } from '@kapstan/api/errors';
import { type CallSignal, runWhole, type SlicedWork } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import { readBodyText } from '../../schema/body-limits.ts';
import { JobThread } from '../../schema/job-thread.ts';
import { decodeText } from '../../schema/json-reader.ts';
import { limitedWorker } from '../../schema/limited-worker.ts';
import { readJsonInYamlInSlices, readYamlBody, type YamlBody, type YamlReading } from '../../schema/yaml-body.ts';
import { YamlSyntaxError } from '../../schema/yaml-reader.ts';
import type { YamlAnswer } from '../../schema/yaml-thread.ts';

/**
 * Longest YAML that is read in the turn itself, which takes a few milliseconds. Starting a thread takes a tenth of a
 * second.
 */
const maxBytesOfTurn = 8 * 1024;
/** Longest time for the thread to read one text. The densest text takes 1.5 s of one core. */
const maxReadMs = 10_000;
/** Heap of the thread, in MiB. The densest text takes 160 MB. */
const maxHeap = 512;

/** Run from sources, the thread needs a Node that reads TypeScript: 22.18, or an older one with test/source-threads.mjs. */
const threadFile = import.meta.url.endsWith('.ts')
  ? new URL('../../schema/yaml-thread.ts', import.meta.url)
  : new URL('../../schema/yaml-thread.js', import.meta.url);

export class YamlBodies {
  readonly #thread: JobThread<string, YamlAnswer>;

  /** `newThread` may throw; a request that needs the thread is then answered with 500. */
  constructor(clock: Clock, newThread: () => Worker = newYamlThread) {
    this.#thread = new JobThread({
      clock,
      newThread,
      sizeOf: (text) => text.length,
      maxJobMs: maxReadMs,
      tooSlow: () => requestEntityTooLarge(`YAML that takes more than ${maxReadMs / 1000} s to read; send it as JSON`),
      failureOf,
    });
  }

  /** Resolves to a function that returns the value or throws the fault of the body. Rejects when the signal aborts. */
  async prepare(body: Uint8Array, signal: CallSignal): Promise<YamlReading> {
    const text = decodeText(body);
    if (body.length <= maxBytesOfTurn) return () => readYamlBody(text);
    const document = await runInTurns(readJsonInYamlInSlices(text));
    if (document !== undefined) return once({ document, duplicates: [] }, () => readYamlBody(text));
    const answer = await this.#thread.ask(text, signal);
    if (answer.type !== 'document') return () => bodyOf(answer);
    return once(await runInTurns(documentOf(answer)), () => bodyOf(answer));
  }

  /** Ends the thread even while it reads; requests that wait for it get 500. Resolves when no thread is left. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}

function newYamlThread(): Worker {
  return limitedWorker(threadFile, maxHeap);
}

/** Gives away the value that was read once. Later calls read it again, because the receiver may change it. */
function once(body: YamlBody, again: YamlReading): YamlReading {
  let ready: YamlBody | undefined = body;
  return () => {
    const given = ready ?? again();
    ready = undefined;
    return given;
  };
}

function bodyOf(answer: YamlAnswer): YamlBody {
  switch (answer.type) {
    case 'document':
      return runWhole(documentOf(answer));
    case 'syntax':
      throw new YamlSyntaxError(answer.message);
    case 'tooLarge':
      throw requestEntityTooLarge(answer.message);
  }
}

function* documentOf({ json, duplicates }: YamlAnswer & { readonly type: 'document' }): SlicedWork<YamlBody> {
  return { document: yield* readBodyText(json), duplicates };
}

function failureOf(error: Error & { readonly code?: string }): Error {
  if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') return requestEntityTooLarge('more YAML than there is memory for');
  return internalError(`YAML cannot be read: ${error.message}`);
}
