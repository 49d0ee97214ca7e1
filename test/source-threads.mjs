// Lets threads that tests start run from sources on a Node that reads no TypeScript (22.18 does): preloaded in every process of
// vitest, idle in its main thread, where vitest reads the sources itself.
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (!isMainThread) register('./source-hooks.mjs', import.meta.url);
