// StackOnceLogger logs every failure, but the same stack only from time to time, because a thousand objects that fail
// at one line would fill the log with that line's stack. It wraps the logger for this package's own lines; lines that a
// reconcile writes (`ctx.log`) pass unchanged.
import type { Clock, LogFields, Logger } from '@kapstan/api';
import { LruMap } from './lru-map.ts';
import { commonFrames, userFrames } from './user-frames.ts';

/** Time after which a stack is shown again, in milliseconds: logs are rotated, and read from their end. */
const toldForMs = 600_000;
/** Maximum number of remembered stacks; a forgotten one is shown again. */
const maxStacks = 256;

interface ToldStack {
  readonly atMs: number;
  repeated: number;
}

/**
 * Passes every line on. The stack of its field `error`, and those of its causes, are cut to the program's own frames if
 * there are any. If a line of the same text showed that stack in the last 10 minutes (whatever the error's message),
 * the error is replaced by one of the same class, message and causes without stacks and further members, and the field
 * `repeated` counts such lines.
 */
export function stackOnceLogger(logger: Logger, clock: Clock): Logger {
  const told = new LruMap<string, ToldStack>(maxStacks);
  const write =
    (level: keyof Logger) =>
    (message: string, fields?: LogFields): void => {
      const error = fields?.error;
      const place = error instanceof Error ? placeOf(error) : '';
      if (place === '') return logger[level](message, fields);
      const key = `${level} ${message}${place}`;
      const before = told.get(key);
      const nowMs = clock.monotonicNow();
      if (before === undefined || nowMs - before.atMs >= toldForMs) {
        told.set(key, { atMs: nowMs, repeated: 0 });
        return logger[level](message, { ...fields, error: trimmed(error as Error) });
      }
      before.repeated++;
      logger[level](message, { ...fields, error: shortened(error as Error), repeated: before.repeated });
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Returns an error and its causes, each once, because causes may form a circle. */
function chainOf(error: Error): readonly Error[] {
  const chain = new Set<Error>();
  for (let at: unknown = error; at instanceof Error && !chain.has(at); at = at.cause) chain.add(at);
  return [...chain];
}

/**
 * Returns the origin of an error and its causes: stack frames without messages, and only the program's own frames if
 * there are any.
 */
function placeOf(error: Error): string {
  const stacks = stacksOf(chainOf(error));
  return stacks.map(userFrames).join('') || stacks.map(commonFrames).join('');
}

const stacksOf = (chain: readonly Error[]): readonly string[] =>
  chain.map(({ stack }) => (typeof stack === 'string' ? stack : ''));

/** Returns the error without our frames and Node's; unchanged if it has no others. */
function trimmed(error: Error): Error {
  const chain = chainOf(error);
  if (!stacksOf(chain).some((stack) => userFrames(stack) !== '')) return error;
  return chain.reduceRight((cause: Error | undefined, at) => trimmedOne(at, cause), undefined) as Error;
}

/** Keeps the error's class and members. */
function trimmedOne(error: Error, cause: Error | undefined): Error {
  const stack = typeof error.stack === 'string' ? error.stack : '';
  const end = stack.indexOf('\n    at ');
  return Object.defineProperties(likeOf(error), {
    ...Object.getOwnPropertyDescriptors(error),
    stack: { value: end < 0 ? stack : stack.slice(0, end) + userFrames(stack), writable: true, configurable: true },
    ...(error.cause instanceof Error ? { cause: { value: cause, writable: true, configurable: true } } : {}),
  });
}

/** Makes another error of the same class, whose members are added later. */
const likeOf = (error: Error): Error => Object.setPrototypeOf(new Error(error.message), Object.getPrototypeOf(error));

function shortened(error: Error): Error {
  return chainOf(error).reduceRight((cause: Error | undefined, at) => shortenedOne(at, cause), undefined) as Error;
}

/**
 * Returns an error with the class and members of this one, which loggers may read; when it is printed, only its text
 * shows.
 */
function shortenedOne(error: Error, cause: Error | undefined): Error {
  const members: PropertyDescriptorMap = Object.getOwnPropertyDescriptors(error);
  for (const member of Object.values(members)) member.enumerable = false;
  const { errors } = error as Partial<AggregateError>;
  return Object.defineProperties(likeOf(error), {
    ...members,
    stack: { value: String(error) },
    ...(error.cause instanceof Error ? { cause: { value: cause } } : {}),
    ...(Array.isArray(errors) ? { errors: { value: errors.map(String) } } : {}),
  });
}
