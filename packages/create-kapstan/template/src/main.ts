// Runs the program in a cluster, until SIGTERM. `npm run dev` runs dev.ts instead.
import { run } from '@kapstan/controller';
import { greetingController, options } from './program.ts';

await run(greetingController, { ...options, logger: console });
