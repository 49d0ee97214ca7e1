// warningLogger: what a manager says when it was given no logger: errors and warnings, as warnings of the process. Beside
// manager.ts and run.ts.
import process from 'node:process';
import { inspect } from 'node:util';
import { type LogFields, type Logger, silentLogger } from '@kapstan/api';

/** Without stacks: what is only a warning comes again and again. */
function warn(message: string, fields: LogFields = {}): void {
  const short = Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? value.message : value]);
  emit(message, short.length === 0 ? undefined : Object.fromEntries(short));
}

function emit(message: string, fields?: LogFields): void {
  const text = fields === undefined ? message : `${message} ${inspect(fields, { breakLength: Infinity })}`;
  process.emitWarning(text, 'KapstanWarning');
}

/** On stderr, unless the process listens to its warnings; with fields. */
export const warningLogger: Logger = { ...silentLogger, warn, error: emit };
