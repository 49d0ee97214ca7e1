// StartError: what a control plane could not start for, under the name of the option that has to be changed. serve.ts puts the
// flag's name in its place.
import { isStorageError } from '@kapstan/storage';

export class StartError extends Error {
  override readonly name = 'StartError';
  /** Where the cause lies: a path in the options of startControlPlane, or a flag of the command. */
  readonly option: string;

  /** The message tells the option and the cause, without a stack. */
  constructor(option: string, { cause }: { readonly cause: unknown }) {
    super(`${option}: ${reasonOf(cause)}`, { cause });
    this.option = option;
  }

  /** The same cause, under the name by which somebody else calls the option. */
  renamed(option: string): StartError {
    return new StartError(option, { cause: this.cause });
  }
}

/** What `work` makes. Rejects with a {@link StartError} of this option when it fails, unless it has named another one. */
export async function startingWith<T>(option: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StartError ? error : new StartError(option, { cause: error });
  }
}

/** What went wrong, in words for who started the command. */
export function reasonOf(cause: unknown): string {
  if (isStorageError(cause) && cause.detail !== '') return worded(cause.detail);
  return worded(cause instanceof Error ? cause.message : String(cause));
}

/** gRPC ends some of its messages with a note that is mostly empty. */
function worded(text: string): string {
  return text.replace(/\.? *Resolution note: *$/, '');
}
