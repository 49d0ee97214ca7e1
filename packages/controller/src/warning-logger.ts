// warningLogger: what a manager says when it was given no logger: errors, as warnings of the process. Beside manager.ts and run.ts.
import process from 'node:process';
import { inspect } from 'node:util';
import { type Logger, silentLogger } from '@kapstan/api';

/** Each error is a warning of the process (on stderr, unless it listens to them), with its fields. */
export const warningLogger: Logger = {
  ...silentLogger,
  error: (message, fields) =>
    process.emitWarning(
      fields === undefined ? message : `${message} ${inspect(fields, { breakLength: Infinity })}`,
      'KapstanWarning',
    ),
};
