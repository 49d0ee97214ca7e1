// Lets threads that tests start run from sources on a Node that does not read TypeScript (22.18 does). It is preloaded
// in every process of vitest, and does nothing in its main thread, where vitest reads the sources itself.
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (!isMainThread) register('./source-hooks.mjs', import.meta.url);
