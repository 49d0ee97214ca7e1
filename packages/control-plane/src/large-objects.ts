// The validation of large objects by a thread that knows all kinds of this server.
import { systemClock } from '@kapstan/api';
import { LargeObjectValidation, validationWorker } from '@kapstan/apiserver';

/** From sources, Node has to be one that reads TypeScript: 22.18, or what test/source-threads.mjs makes of an older one. */
const threadFile = import.meta.url.endsWith('.ts')
  ? new URL('../src/validation-thread.ts', import.meta.url)
  : new URL('../dist/validation-thread.js', import.meta.url);

export function largeObjectValidation(): LargeObjectValidation {
  return new LargeObjectValidation(systemClock, () => validationWorker(threadFile));
}
