import { Worker } from 'node:worker_threads';
import { systemClock } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { expect, it } from 'vitest';
import { JobThread } from './job-thread.ts';

/** Answers each job with itself, and ends without an error at the job "end". */
const program = `
  const { parentPort } = require('node:worker_threads');
  parentPort.on('message', (job) => (job === 'end' ? process.exit(3) : parentPort.postMessage(job)));
`;

it('a thread that ends by itself fails the job that it did, and another one does the rest', {
  timeout: 30_000,
}, async () => {
  let threads = 0;
  const thread = new JobThread<string, string>({
    clock: systemClock,
    newThread: () => {
      threads++;
      return new Worker(program, { eval: true });
    },
    sizeOf: (job) => job.length,
    maxJobMs: 60_000,
    tooSlow: () => internalError('too slow'),
    failureOf: ({ message }) => internalError(message),
  });
  const jobs = ['a', 'end', 'after'].map((job) => thread.ask(job, undefined));
  const outcomes = await Promise.allSettled(jobs);
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message))).toEqual([
    'a',
    'Internal error occurred: the thread ended with code 3',
    'after',
  ]);
  expect(threads).toBe(2);
  await thread.close();
});
