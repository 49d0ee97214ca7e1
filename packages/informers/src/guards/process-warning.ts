// The fallback for trouble that nothing else handles: the logger, or else a process warning. Used where a user's callback is absent or
// throws.
import type { Logger } from '@kapstan/api';
import { guardedCall } from '@kapstan/api/internal';

/** Receives a sentence that describes the place and the problem, and the error behind it for its stack. */
export type Warn = (text: string, error?: unknown) => void;

export const emitProcessWarning: Warn = (text, error) => {
  const stack = error instanceof Error ? stacksOf(error) : undefined;
  process.emitWarning(text, { type: 'KapstanWarning', detail: stack });
};

/** Returns the stacks of an error and its causes: where the error is ours, the user's line is in a cause. */
function stacksOf(error: Error): string {
  // The keys are the errors themselves, because causes may form a cycle.
  const stacks = new Map<unknown, string>();
  for (let at: unknown = error; at !== undefined && !stacks.has(at); at = at instanceof Error ? at.cause : undefined)
    stacks.set(at, at instanceof Error ? (at.stack ?? at.message) : String(at));
  return [...stacks.values()].join('\ncaused by: ');
}

/** Warns through the logger, or as a process warning when there is none or it throws. */
export function warningTo(logger: Logger | undefined): Warn {
  if (logger === undefined) return emitProcessWarning;
  return (text, error) =>
    guardedCall(
      () => (error === undefined ? logger.warn(text) : logger.warn(text, { error })),
      (thrown) => {
        emitProcessWarning(text, error);
        emitProcessWarning(errorText(thrown), thrown);
      },
    );
}

export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
