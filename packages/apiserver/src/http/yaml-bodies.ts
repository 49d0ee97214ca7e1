// YamlBodies: has the YAML of requests read before the turn that decodes them: what is long by a thread (schema/yaml-thread.ts)
// that is started when it is needed and ended when it has been idle. One a server, asked by resource-call.ts and patch-handler.ts.
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
  /** The first is with the thread. Invariant: no more than requests in flight. */
  readonly #jobs: Job[] = [];
  #worker: Worker | undefined;
  #cancelEnd: CancelTimer = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
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

  /** Ends the thread. Who waits for it is answered with 500. */
  async close(): Promise<void> {
    this.#cancelEnd();
    for (const { settle } of this.#jobs.splice(0)) settle(newInternalError('the server is closed'));
    await this.#end();
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
      this.#jobs.push(job);
      if (this.#jobs.length === 1) this.#post();
    });
  }

  /** The thread is left to end what it reads: the next text needs it. */
  #forget(job: Job): void {
    const at = this.#jobs.indexOf(job);
    if (at > 0) this.#jobs.splice(at, 1);
  }

  #post(): void {
    this.#cancelEnd();
    const [job] = this.#jobs;
    if (job === undefined) {
      this.#cancelEnd = this.#clock.setBackgroundTimer(() => void this.#end(), idleMs);
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.postMessage(job.text);
  }

  #start(): Worker {
    const worker = new Worker(threadFile);
    worker.on('message', (answer: YamlAnswer) => {
      if (worker === this.#worker) this.#next(answer);
    });
    worker.on('error', (error) => {
      if (worker !== this.#worker) return;
      void this.#end();
      this.#next(failureOf(error));
    });
    worker.unref();
    return worker;
  }

  #next(outcome: YamlAnswer | Error): void {
    this.#jobs.shift()?.settle(outcome);
    this.#post();
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
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
