// userFrames returns the program's own lines of a stack. The ten or so frames of Kapstan and Node between them and the
// event loop are the same for every failure. Used by stack-once-logger.ts.
import { fileURLToPath } from 'node:url';

/** The folder of all our packages, even when they are run from the repository: from sources, or from files joined in dist. Undefined in a bundle. */
const [siblings] = /^.*\/(?:packages|@kapstan)\/(?=controller\/(?:src|dist)\/)/.exec(import.meta.url) ?? [];
const folders: readonly string[] = siblings === undefined ? [] : [siblings, fileURLToPath(siblings)];
/** Matches frames of Node, of ours, and of the libraries through which we call the user or the server. */
const foreign = /\(?node:|\bat (?:async )?(?:new )?Promise\b|\/node_modules\/(?:@kapstan|undici|rxjs)\//;

// Frames of our own tests count as the program's.
const isForeign = (frame: string): boolean =>
  foreign.test(frame) || (folders.some((folder) => frame.includes(folder)) && !frame.includes('.test.ts'));

/** Returns the program's frames ("    at …", each after its line end); empty if the stack has none. */
export function userFrames(stack: string): string {
  return framesOf(stack)
    .filter((frame) => !isForeign(frame))
    .join('');
}

/**
 * Returns a stack's frames without the frames that differ between workers, such as "at async Promise.all (index 2)".
 */
export function commonFrames(stack: string): string {
  return framesOf(stack)
    .filter((frame) => !frame.includes(' (index '))
    .join('');
}

const framesOf = (stack: string): readonly string[] => stack.match(/\n {4}at .*/g) ?? [];
