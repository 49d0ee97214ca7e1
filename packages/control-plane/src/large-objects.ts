// The validation of large objects by a thread that knows all kinds of this server.
import { systemClock } from '@kapstan/api';
import { LargeObjectValidation, validationWorker } from '@kapstan/apiserver';

/** Run from sources, the thread needs a Node that reads TypeScript: 22.18, or an older one with test/source-threads.mjs. */
const threadFile = import.meta.url.endsWith('.ts')
  ? new URL('../src/validation-thread.ts', import.meta.url)
  : new URL('../dist/validation-thread.js', import.meta.url);

export function largeObjectValidation(): LargeObjectValidation {
  return new LargeObjectValidation(systemClock, () => validationWorker(threadFile));
}
