// processLogger reports warnings and errors of a client without a logger as process warnings. It is the default logger.
import { inspect } from 'node:util';
import { type LogFields, type Logger, silentLogger } from '@kapstan/api';

/** Shows messages without stacks, because the failure concerns a file, a plugin or a connection. */
function warn(message: string, fields: LogFields = {}): void {
  const short = Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? value.message : value]);
  const tail = short.length === 0 ? '' : ` ${inspect(Object.fromEntries(short), { breakLength: Infinity })}`;
  process.emitWarning(`${message}${tail}`, 'KapstanWarning');
}

/** Emits warnings and errors as process warnings, which go to stderr by default; other levels are dropped. */
export const processLogger: Logger = { ...silentLogger, warn, error: warn };
