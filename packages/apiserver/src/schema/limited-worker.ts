// Makes the threads of JobThread. Used by http/request/yaml-bodies.ts and validation/large-object-validation.ts.
import { Worker } from 'node:worker_threads';

/** Returns a thread that runs the file with at most this much heap. Throws the system's error when it has no room. */
export function limitedWorker(file: URL, maxOldGenerationSizeMb: number): Worker {
  // A thread inherits the flags of its process, and this flag prevents it from running a file.
  const isEvaluated = process.execArgv.some((flag) => flag.startsWith('--input-type'));
  return new Worker(file, { resourceLimits: { maxOldGenerationSizeMb }, ...(isEvaluated && { execArgv: [] }) });
}
