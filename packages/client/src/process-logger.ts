// processLogger: where a client that was given no logger says what must not be lost: warnings of the process. Its default.
import process from 'node:process';
import { inspect } from 'node:util';
import { type LogFields, type Logger, silentLogger } from '@kapstan/api';

/** Without stacks: what failed is a file, a plugin or a connection. */
function warn(message: string, fields: LogFields = {}): void {
  const short = Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? value.message : value]);
  const tail = short.length === 0 ? '' : ` ${inspect(Object.fromEntries(short), { breakLength: Infinity })}`;
  process.emitWarning(`${message}${tail}`, 'KapstanWarning');
}

/** Warnings and errors, on stderr unless the process listens to its warnings; the rest is not told. */
export const processLogger: Logger = { ...silentLogger, warn, error: warn };
