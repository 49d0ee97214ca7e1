// YamlBodies: has the YAML of requests read before the turn that decodes them: what is long by a thread (schema/yaml-thread.ts)
// that is started when it is needed. It is ended when it has been idle, when what it reads takes too long or nobody waits for that
// any more, and with the server. One a server, asked by resource-call.ts and patch-handler.ts.
import { Worker } from 'node:worker_threads';
import {
  addAbortListener,
  type CallSignal,
  type CancelTimer,
  type Clock,
  newInternalError,
  newRequestEntityTooLarge,
  removeAbortListener,
} from '@kapstan/api';
import { decodeText, readJson } from '../schema/json-reader.ts';
import { readJsonInYaml, readYamlBody, type YamlBody, type YamlReading } from '../schema/yaml-body.ts';
import { YamlSyntaxError } from '../schema/yaml-reader.ts';
import type { YamlAnswer } from '../schema/yaml-thread.ts';

/** To read so much takes a few milliseconds. To start a thread takes a tenth of a second of its own. */
const maxBytesOfTurn = 8 * 1024;
const idleMs = 10_000;
/** What the thread is given for one text. The densest that it reads takes 1.5 s of one core. */
const maxReadMs = 10_000;
/** Of the thread, in MiB. The densest text that it reads takes 160 MB. */
const maxHeap = 512;

/** From sources, Node has to be one that reads TypeScript: 22.18, or what test/source-threads.mjs makes of an older one. */
const threadFile = import.meta.url.endsWith('.ts')
  ? new URL('../schema/yaml-thread.ts', import.meta.url)
  : new URL('../schema/yaml-thread.js', import.meta.url);

interface Job {
  readonly text: string;
  readonly settle: (outcome: YamlAnswer | Error) => void;
}

export class YamlBodies {
  readonly #clock: Clock;
  readonly #newThread: () => Worker;
  /** Invariant: these and the one that is read are no more than requests in flight. */
  readonly #waiting = new Set<Job>();
  #reading: Job | undefined;
  #worker: Worker | undefined;
  readonly #ends = new Set<Promise<unknown>>();
  /** Of the time of what is read, or of the idle thread. */
  #cancelEnd: CancelTimer = () => undefined;

  /** `newThread` may throw: then who needs the thread is answered with 500. */
  constructor(clock: Clock, newThread: () => Worker = newYamlThread) {
    this.#clock = clock;
    this.#newThread = newThread;
  }

  /** Resolves when the body can be read at once; what is wrong with it is thrown then. Rejects when the signal aborts. */
  async prepare(body: Uint8Array, signal: CallSignal): Promise<YamlReading> {
    const text = decodeText(body);
    if (body.length <= maxBytesOfTurn) return () => readYamlBody(text);
    const document = readJsonInYaml(text);
    if (document !== undefined) return once({ document, duplicates: [] }, () => readYamlBody(text));
    const answer = await this.#ask(text, signal);
    return () => bodyOf(answer);
  }

  /** Ends the thread, whatever it reads. Who waits for it is answered with 500. Resolves when no thread is left. */
  async close(): Promise<void> {
    this.#cancelEnd();
    const refused = [...(this.#reading ? [this.#reading] : []), ...this.#waiting];
    this.#reading = undefined;
    this.#waiting.clear();
    for (const { settle } of refused) settle(newInternalError('the server is closed'));
    this.#end();
    await Promise.all(this.#ends);
  }

  #ask(text: string, signal: CallSignal): Promise<YamlAnswer> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const onAbort = (): void => {
        this.#forget(job);
        reject(signal.reason);
      };
      const job: Job = {
        text,
        settle: (outcome) => {
          removeAbortListener(signal, onAbort);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
      };
      addAbortListener(signal, onAbort);
      this.#waiting.add(job);
      if (this.#reading === undefined) this.#post();
    });
  }

  #forget(job: Job): void {
    this.#waiting.delete(job);
    if (job !== this.#reading) return;
    this.#reading = undefined;
    this.#replace();
  }

  /** The least first: somebody's few lines do not wait for what is huge. Never throws: who cannot be read is told, and the next is. */
  #post(): void {
    this.#cancelEnd();
    do {
      this.#reading = leastOf(this.#waiting);
      if (this.#reading === undefined) {
        this.#cancelEnd = this.#clock.setBackgroundTimer(() => this.#end(), idleMs);
        return;
      }
      this.#waiting.delete(this.#reading);
    } while (!this.#isGiven(this.#reading));
    this.#cancelEnd = this.#clock.setBackgroundTimer(() => {
      this.#replace(
        newRequestEntityTooLarge(`YAML that takes more than ${maxReadMs / 1000} s to read; send it as JSON`),
      );
    }, maxReadMs);
  }

  /** No thread can be made where the process may have no more of them, or no more memory. */
  #isGiven({ text, settle }: Job): boolean {
    try {
      this.#worker ??= this.#start();
      this.#worker.postMessage(text);
      return true;
    } catch (error) {
      settle(failureOf(error as Error));
      return false;
    }
  }

  #start(): Worker {
    const worker = this.#newThread();
    worker.on('message', (answer: YamlAnswer) => {
      if (worker === this.#worker) this.#next(answer);
    });
    worker.on('error', (error) => {
      if (worker === this.#worker) this.#replace(failureOf(error));
    });
    worker.unref();
    return worker;
  }

  /** A thread cannot be told to stop reading: it is ended, and another one reads the rest. */
  #replace(failure?: Error): void {
    this.#end();
    if (failure === undefined) this.#post();
    else this.#next(failure);
  }

  #next(outcome: YamlAnswer | Error): void {
    this.#reading?.settle(outcome);
    this.#post();
  }

  #end(): void {
    if (this.#worker === undefined) return;
    const end = this.#worker.terminate().finally(() => this.#ends.delete(end));
    this.#ends.add(end);
    this.#worker = undefined;
  }
}

function newYamlThread(): Worker {
  return new Worker(threadFile, { resourceLimits: { maxOldGenerationSizeMb: maxHeap } });
}

function leastOf(jobs: Iterable<Job>): Job | undefined {
  let least: Job | undefined;
  for (const job of jobs) if (least === undefined || job.text.length < least.text.length) least = job;
  return least;
}

/** The value may be changed by who gets it, so it is given away once. */
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
      return { document: readJson(answer.json), duplicates: answer.duplicates };
    case 'syntax':
      throw new YamlSyntaxError(answer.message);
    case 'tooLarge':
      throw newRequestEntityTooLarge(answer.message);
  }
}

function failureOf(error: Error & { readonly code?: string }): Error {
  if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') return newRequestEntityTooLarge('more YAML than there is memory for');
  return newInternalError(`YAML cannot be read: ${error.message}`);
}
