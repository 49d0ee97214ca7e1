// userFrames: the lines of a stack that are the program's own. Between a line of the user's and the event loop lie some ten
// frames of ours and of Node, which are the same for every failure. Used by stack-once-logger.ts.
import { fileURLToPath } from 'node:url';

/** The folder of all our packages, also where they are not installed but run from the repository. */
const siblings = new URL('../../', import.meta.url);
const isTheirFolder = /\/(?:packages|@kapstan)\/$/.test(siblings.pathname);
const folders: readonly string[] = isTheirFolder ? [siblings.href, fileURLToPath(siblings)] : [];
/** Node's own, ours, and those of the libraries by which we call the user or the server. */
const foreign = /\(?node:|\bat (?:async )?(?:new )?Promise\b|\/node_modules\/(?:@kapstan|undici|rxjs)\//;

// Our tests play the program.
const isForeign = (frame: string): boolean =>
  foreign.test(frame) || (folders.some((folder) => frame.includes(folder)) && !frame.includes('.test.ts'));

/** The frames ("    at …", with their line ends before them) of the program; empty where the stack has none. */
export function userFrames(stack: string): string {
  return framesOf(stack)
    .filter((frame) => !isForeign(frame))
    .join('');
}

/** The frames of a stack without those that differ from worker to worker: "at async Promise.all (index 2)". */
export function commonFrames(stack: string): string {
  return framesOf(stack)
    .filter((frame) => !frame.includes(' (index '))
    .join('');
}

const framesOf = (stack: string): readonly string[] => stack.match(/\n {4}at .*/g) ?? [];
