// The standard output and the standard error, written so that nothing that happens to them ends the process: results of commands,
// and the stream of the log.
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { LogStream } from './log-stream.ts';

const standardError = 2;

/** Prints the result of a command. Resolves to its exit status: 1 when the result could not be written. */
export async function printResult(text: string): Promise<0 | 1> {
  return (await isWritten(process.stdout, text)) ? 0 : 1;
}

/** Prints what went wrong. Where that cannot be written the exit status has to do. */
export async function printError(text: string): Promise<void> {
  await isWritten(process.stderr, text);
}

function isWritten(stream: Writable, text: string): Promise<boolean> {
  tolerateErrors(stream);
  return new Promise((resolve) => stream.write(text, (error) => resolve(error === undefined || error === null)));
}

const ignored = (): void => undefined;

/** Without a listener an error of the stream would end the process. The listener stays, once: an error may come late. */
export function tolerateErrors(stream: Writable): void {
  if (!stream.listeners('error').includes(ignored)) stream.on('error', ignored);
}

/** The log of the process, on its standard error. */
export function standardErrorLog(): LogStream {
  const fd = nonBlocking(standardError);
  return new LogStream({ write: (bytes) => writeSync(fd, bytes) });
}

/**
 * A descriptor whose writes fail with EAGAIN where the given one would wait for a reader: a pipe that is full must not hold the
 * event loop. Regular files have no reader.
 */
function nonBlocking(fd: number): number {
  if (isatty(fd)) return reopened(fd);
  const status = fstatSync(fd);
  // Node sets pipes and sockets to this mode when it makes the stream, and sets them back when the process ends.
  if (status.isFIFO() || status.isSocket()) tolerateErrors(process.stderr);
  return fd;
}

/** A terminal that was stopped with Ctrl-S. Its own descriptor is shared with the shell, which expects it to wait. */
function reopened(fd: number): number {
  try {
    return openSync(`/dev/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    // It may belong to another user, as after su.
    if ((error as NodeJS.ErrnoException).syscall !== 'open') throw error;
    return fd;
  }
}
