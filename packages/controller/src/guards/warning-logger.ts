// warningLogger is the default logger of a manager: it turns errors and warnings into warnings of the process. Used by
// manager.ts and run.ts.
import { inspect } from 'node:util';
import { type LogFields, type Logger, silentLogger } from '@kapstan/api';

/** Omits stacks, because mere warnings are repeated. */
function warn(message: string, fields: LogFields = {}): void {
  const short = Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? value.message : value]);
  emit(message, short.length === 0 ? undefined : Object.fromEntries(short));
}

function emit(message: string, fields?: LogFields): void {
  const text = fields === undefined ? message : `${message} ${inspect(fields, { breakLength: Infinity })}`;
  process.emitWarning(text, 'KapstanWarning');
}

/** Writes to stderr, with fields, unless the process listens to its warnings. */
export const warningLogger: Logger = { ...silentLogger, warn, error: emit };
