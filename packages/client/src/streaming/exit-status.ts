// Turns the Status on the error channel of a remote command into an exit code or an error. Used by remote-command.
import type { Status } from '@kapstan/api';
import { statusErrorFrom } from '@kapstan/api/errors';
import { isJsonObject } from '@kapstan/api/internal';

// A Status is a few hundred bytes; anything longer than this is not one.
const maxBytes = 1_048_576;

export type CommandEnd =
  | { readonly type: 'exit'; readonly exitCode: number }
  | { readonly type: 'failure'; readonly error: Error };

/** Collects the error channel, because a Status may come in several messages. */
export class ExitStatus {
  #text = '';

  /** Adds a message; returns the end once the Status is complete. */
  push(payload: Buffer): CommandEnd | undefined {
    this.#text += payload.toString('utf8');
    if (this.#text.length > maxBytes) return { type: 'failure', error: new Error('the error stream holds no Status') };
    const value = parseOrUndefined(this.#text);
    return isJsonObject(value) ? endOf(value as Partial<Status>) : undefined;
  }

  /** The text received so far, for an error message. */
  get text(): string {
    return this.#text.slice(0, 200);
  }
}

// Source: client-go tools/remotecommand/v4.go errorDecoderV4.
function endOf(status: Partial<Status>): CommandEnd {
  if (status.status === 'Success') return { type: 'exit', exitCode: 0 };
  const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode');
  const isExit = status.status === 'Failure' && (status.reason as string) === 'NonZeroExitCode';
  if (isExit && cause?.message !== undefined && /^-?\d{1,9}$/.test(cause.message))
    return { type: 'exit', exitCode: Number(cause.message) };
  return { type: 'failure', error: statusErrorFrom({ ...status, code: status.code || 500 }) };
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The text is not complete yet.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
