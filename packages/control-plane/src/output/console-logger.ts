// The Logger of the command line: pino, one JSON line an entry. The lines go to log-stream.ts.
import type { LogFields, Logger } from '@kapstan/api';
import { type DestinationStream, pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Writes every field, and errors with their message, stack and causes. Never pass it secrets. */
export function consoleLogger(level: LogLevel, destination: DestinationStream): Logger {
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // Without this serializer an error would be written as {}.
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
