// Turns output that libraries and Node print themselves into log records, because plain lines and stacks would break the JSON log. Used by
// serve.ts.
import { formatWithOptions } from 'node:util';
import type { Logger } from '@kapstan/api';

/** Captures output until the returned function is called. Deprecations are logged at debug level, because they concern developers. */
export function printIntoLog(logger: Logger): () => void {
  const { error, warn, info, log, debug } = console;
  const printer =
    (level: 'error' | 'warn' | 'info' | 'debug') =>
    (...values: unknown[]): void =>
      logger[level]('output of a library', { text: textOf(values) });
  const printers = { error: printer('error'), warn: printer('warn'), info: printer('info'), debug: printer('debug') };
  Object.assign(console, { ...printers, log: printers.info });
  const listeners = process.listeners('warning');
  process.removeAllListeners('warning');
  const onWarning = (warning: Error & { readonly code?: string }): void => {
    const { name, message, code } = warning;
    const level = name === 'DeprecationWarning' ? 'debug' : 'warn';
    logger[level](message, { name, ...(code !== undefined && { code }) });
  };
  process.on('warning', onWarning);
  return () => {
    Object.assign(console, { error, warn, info, log, debug });
    process.off('warning', onWarning);
    for (const listener of listeners) process.on('warning', listener);
  };
}

/** Formats values; errors are shown without their stacks. */
function textOf(values: readonly unknown[]): string {
  const shown = values.map((value) => (value instanceof Error ? `${value.name}: ${value.message}` : value));
  return formatWithOptions({ colors: false, depth: 2 }, ...shown);
}
