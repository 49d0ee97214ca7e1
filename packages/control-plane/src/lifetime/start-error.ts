// StartError: the reason why a control plane could not start, and the option to change. serve.ts replaces the option's name with the
// flag's.
import { messageOf } from '@kapstan/api/internal';
import { isStorageError } from '@kapstan/storage';

/** Thrown when a control plane cannot start for a reason that its user can correct; the message describes it. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** The option at fault: a path in the options of startControlPlane, or a flag of the command. */
  readonly option: string;

  /** The message names the option and the cause, without a stack. */
  constructor(option: string, { cause }: { readonly cause: unknown }) {
    super(`${option}: ${reasonOf(cause)}`, { cause });
    this.option = option;
  }

  /** Returns the same error under another name of the option. */
  renamed(option: string): StartError {
    return new StartError(option, { cause: this.cause });
  }
}

/**
 * Returns the result of `work`. When it fails, rejects with a {@link StartError} that names this option, unless it already names another.
 */
export async function startingWith<T>(option: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StartError ? error : new StartError(option, { cause: error });
  }
}

/** Returns the reason in words for the user of the command. */
export function reasonOf(cause: unknown): string {
  if (isStorageError(cause) && cause.detail !== '') return worded(cause.detail);
  return worded(messageOf(cause));
}

/** Removes the mostly empty note at the end of some gRPC messages. */
function worded(text: string): string {
  return text.replace(/\.? *Resolution note: *$/, '');
}
