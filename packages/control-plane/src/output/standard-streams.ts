// Writes to standard output and standard error so that no failure of either stream ends the process: results of commands, errors,
// and the log.
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { LogStream } from './log-stream.ts';

const standardError = 2;

/** Prints the result of a command. Resolves to its exit status: 1 when the result could not be written. */
export async function printResult(text: string): Promise<0 | 1> {
  return (await isWritten(process.stdout, text)) ? 0 : 1;
}

/** Prints an error. If that fails, only the exit status reports it. */
export async function printError(text: string): Promise<void> {
  await isWritten(process.stderr, text);
}

function isWritten(stream: Writable, text: string): Promise<boolean> {
  tolerateErrors(stream);
  return new Promise((resolve) => stream.write(text, (error) => resolve(error === undefined || error === null)));
}

const ignored = (): void => undefined;

/**
 * Keeps a stream error from ending the process, as it would without a listener. The listener is added once and stays, because an error may
 * come late.
 */
export function tolerateErrors(stream: Writable): void {
  if (!stream.listeners('error').includes(ignored)) stream.on('error', ignored);
}

/** Returns the log of the process, on its standard error. */
export function standardErrorLog(): LogStream {
  const fd = nonBlocking(standardError);
  return new LogStream({ write: (bytes) => writeSync(fd, bytes) });
}

/**
 * Returns a descriptor whose writes fail with EAGAIN where the given one would wait for a reader: a full pipe must not block the event
 * loop. Regular files never wait.
 */
function nonBlocking(fd: number): number {
  if (isatty(fd)) return reopened(fd);
  const status = fstatSync(fd);
  // Node makes pipes and sockets non-blocking when it creates the stream, and restores them when the process ends.
  if (status.isFIFO() || status.isSocket()) tolerateErrors(process.stderr);
  return fd;
}

/** Reopens a terminal, which Ctrl-S may have stopped. Its own descriptor must stay blocking, because the shell shares it. */
function reopened(fd: number): number {
  try {
    return openSync(`/dev/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    // The terminal may belong to another user, as after su.
    if ((error as NodeJS.ErrnoException).syscall !== 'open') throw error;
    return fd;
  }
}
