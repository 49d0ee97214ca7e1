// Work with patterns that takes too long for one turn: it pauses, or is done by a thread that the server provides.
// Without a thread, as in a browser, it is done here.
import type { SlicedWork } from '@kapstan/api/internal';
import { CelFailure, EvaluationStop, isFailure } from '../values/failure.ts';
import {
  compilePattern,
  findAllPattern,
  findPattern,
  matchesOf,
  matchesPattern,
  stepsOfCompiling,
  stepsOfMatching,
} from './pattern.ts';
import { patternSize } from './pattern-size.ts';

/** One job: compiling a pattern, and applying it to a text. */
export interface PatternJob {
  readonly operation: 'check' | PatternOperation;
  readonly pattern: string;
  readonly text: string;
  /** Maximum number of matches of `findAll`; negative for all. */
  readonly limit: number;
}

export type PatternOperation = 'matches' | 'find' | 'findAll';

/** The result, or the reason why the text is not a pattern. */
export type PatternAnswer =
  | { readonly value: boolean | string | readonly string[]; readonly fault?: undefined }
  | { readonly fault: string };

/** Does jobs outside of the event loop. */
export interface PatternThread {
  /** Rejects when a job takes too long; the error's message is shown to users. */
  answer(job: PatternJob): Promise<PatternAnswer>;
}

/** Maximum number of steps of one call in a turn: about ten milliseconds. */
export const stepsPerTurn: number = 256 * 1024;
/** Steps between two pauses, which take a millisecond or less. */
export const stepsPerSlice: number = 16 * 1024;

/** Maximum number of steps of all matches of `findAll` together, which pause between each other. */
const stepsOfFindAll = 16 * stepsPerTurn;

let threadInUse: PatternThread | undefined;

/** Has large jobs of all evaluations in this process done by a thread, if they can wait for it. Undefined = none. */
export function usePatternThread(thread: PatternThread | undefined): void {
  threadInUse = thread;
}

/** Does a job in one go. The thread calls this. */
export function answerPatternJob({ operation, pattern, text, limit }: PatternJob): PatternAnswer {
  const compiled = compilePattern(pattern);
  if (isFailure(compiled)) return { fault: compiled.message };
  switch (operation) {
    case 'check':
      return { value: true };
    case 'matches':
      return { value: matchesPattern(compiled, text) };
    case 'find':
      return { value: findPattern(compiled, text) };
    case 'findAll':
      return { value: findAllPattern(compiled, text, limit) };
  }
}

/** Does a job with pauses; returns its value or failure. Throws EvaluationStop when the thread cannot do it. */
export function* patternWork(job: PatternJob): SlicedWork<unknown> {
  const later = isLarge(job) ? yield* settled(threadInUse?.answer(job)) : undefined;
  if (later === undefined && job.operation === 'findAll') return yield* findAllInSlices(job);
  const answer = later ?? answerPatternJob(job);
  return answer.fault === undefined ? answer.value : new CelFailure(answer.fault);
}

function isLarge({ operation, pattern, text }: PatternJob): boolean {
  const steps = stepsOfMatching(pattern, text);
  if (stepsOfCompiling(pattern) + steps > stepsPerTurn) return true;
  return operation === 'findAll' && steps * text.length > stepsOfFindAll;
}

/** Each match may read the rest of the text, so that all of them take time that grows with its square. */
function* findAllInSlices({ pattern, text, limit }: PatternJob): SlicedWork<unknown> {
  const compiled = compilePattern(pattern);
  if (isFailure(compiled)) return compiled;
  const all: string[] = [];
  if (limit === 0) return all;
  const size = patternSize(pattern);
  let steps = 0;
  for (const { found, end } of matchesOf(compiled, text)) {
    if (found !== undefined) all.push(found);
    if (all.length === limit) break;
    steps += size * (text.length - end);
    if (steps < stepsPerSlice) continue;
    steps = 0;
    yield;
  }
  return all;
}

/** Waits for the answer. Undefined when there is none, because the runner of this work cannot wait. */
function* settled(answer: Promise<PatternAnswer> | undefined): SlicedWork<PatternAnswer | undefined> {
  if (answer === undefined) return undefined;
  let outcome: PatternAnswer | { readonly error: Error } | undefined;
  yield answer.then(
    (value) => {
      outcome = value;
    },
    (error: unknown) => {
      outcome = { error: error as Error };
    },
  );
  if (outcome !== undefined && 'error' in outcome) throw new EvaluationStop(outcome.error.message);
  return outcome;
}
