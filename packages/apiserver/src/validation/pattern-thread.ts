// The thread that does large jobs with the patterns of expressions, one at a time. Started, fed and ended by
// pattern-jobs.ts.
import { parentPort } from 'node:worker_threads';
import { answerPatternJob, type PatternJob } from '@kapstan/cel';

parentPort?.on('message', (job: PatternJob) => parentPort?.postMessage(answerPatternJob(job)));
