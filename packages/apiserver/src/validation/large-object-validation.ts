// LargeObjectValidation has large objects validated by a thread that runs validation-thread.ts. So the rules of kinds
// stay plain functions, and other requests are served meanwhile
// (docs/decisions/0018-large-objects-are-validated-in-a-thread.md). Each server has one and passes it to its stores.
import type { Worker } from 'node:worker_threads';
import type { Clock } from '@kapstan/api';
import { internalError, requestEntityTooLarge } from '@kapstan/api/errors';
import { type CallSignal, encodeJsonInSlices, JsonLimitError, stringifyInSlices } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { DefinitionOrigin } from '../registry/definition/definition-origin.ts';
import type { LargeValidation, LargeValidationCall, ToldFindings } from '../registry/store/large-validation.ts';
import { JobThread } from '../schema/job-thread.ts';
import { limitedWorker } from '../schema/limited-worker.ts';

/** Longest time for one object. The slowest object of 3 MiB takes about two seconds of one core. */
const maxValidationMs = 20_000;
/**
 * Maximum duration of the start. Loading the kinds takes a second of one core, and many times as long on a busy
 * machine.
 */
const maxStartMs = 60_000;
/** Largest heap of the thread, in MiB. Its code takes 50 MiB, the largest object about 300 MiB. */
const maxHeap = 768;

/** Longest JSON of an object with its defaults. The largest one that a store takes has about 5 MiB. */
const maxObjectBytes = 32 * 1024 * 1024;

/** A message to the thread. It has JSON, because objects would be copied value by value. */
export interface ValidationJob {
  readonly origin: { readonly maker: string; readonly parts: string };
  readonly subresource: string;
  readonly namespace: string;
  readonly object: Uint8Array;
  readonly old: Uint8Array | undefined;
}

/** Validates large objects in a thread, so that the loop stays free. */
export class LargeObjectValidation implements LargeValidation {
  readonly #thread: JobThread<ValidationJob, ToldFindings>;
  readonly #texts = new WeakMap<object, string>();

  /**
   * `newThread` starts a thread that runs `runValidationThread`; see {@link validationWorker}. It may throw; requests
   * that need the thread are then answered with 500.
   */
  constructor(clock: Clock, newThread: () => Worker) {
    this.#thread = new JobThread({
      clock,
      newThread,
      sizeOf: ({ object, old }) => object.length + (old?.length ?? 0),
      maxJobMs: maxValidationMs,
      maxStartMs,
      tooSlow: () => requestEntityTooLarge(`the object takes more than ${maxValidationMs / 1000} s to validate`),
      failureOf,
    });
  }

  async validate(call: LargeValidationCall, signal: CallSignal | undefined): Promise<ToldFindings> {
    const { origin, subresource, namespace, old } = call;
    const object = await encode(call.object, signal);
    const job: ValidationJob = {
      origin: { maker: origin.maker, parts: await this.#textOf(origin) },
      subresource,
      namespace,
      object,
      old: old === undefined ? undefined : await encode(old, signal),
    };
    return this.#thread.ask(job, signal);
  }

  /** Ends the thread. Requests that wait for it are answered with 500. Idempotent. */
  close(): Promise<void> {
    return this.#thread.close();
  }

  async #textOf(origin: DefinitionOrigin): Promise<string> {
    const known = this.#texts.get(origin);
    if (known !== undefined) return known;
    const text = await runInTurns(stringifyInSlices(origin.parts));
    this.#texts.set(origin, text);
    return text;
  }
}

async function encode(object: object, signal: CallSignal | undefined): Promise<Uint8Array> {
  try {
    return await runInTurns(encodeJsonInSlices(object, { maxBytes: maxObjectBytes }), signal);
  } catch (error) {
    if (!(error instanceof JsonLimitError)) throw error;
    throw requestEntityTooLarge(`the object with its defaults has ${error.message}`);
  }
}

/** Returns a thread that runs the file, with a limit on its memory. */
export function validationWorker(file: URL): Worker {
  return limitedWorker(file, maxHeap);
}

function failureOf(error: Error & { readonly code?: string }): Error {
  if (error.code === 'ERR_WORKER_OUT_OF_MEMORY')
    return requestEntityTooLarge('the object takes more memory to validate than there is');
  return internalError(`the object cannot be validated: ${error.message}`);
}
