// Logging as a port: a message and plain fields. Secrets never go into fields.

/** An error is in the field `error` exactly as thrown, so a logger that writes JSON must read its message and stack. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Receives lines with fields. `console` is one. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const ignore = (): void => undefined;

/**
 * Logs nothing: the default of every component.
 *
 * @example
 * ```ts
 * import { silentLogger } from '@kapstan/api';
 * import { connect } from '@kapstan/client';
 *
 * const client = await connect({ logger: silentLogger });
 * await client.close();
 * ```
 */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
