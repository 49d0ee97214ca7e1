// The Logger of the command line: pino, one JSON line an entry. The lines go to log-stream.ts.
import type { LogFields, Logger } from '@kapstan/api';
import { type DestinationStream, pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Never give it secrets: it writes every field, of errors the message, the stack and the causes. */
export function consoleLogger(level: LogLevel, destination: DestinationStream): Logger {
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // Without it an error is {}.
      serializers: { error: pino.stdSerializers.err },
    },
    destination,
  );
  const write =
    (method: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: LogFields): void => {
      log[method](fields ?? {}, message);
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
