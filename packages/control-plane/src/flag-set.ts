// Command-line flags in the manner of the Kubernetes commands: --name=value or --name value, booleans bare or with a
// value, errors that name the flag. Over node:util parseArgs. Used by serve-flags.ts and store-command.ts.
import { parseArgs } from 'node:util';
import { parseDuration } from '@kapstan/api';

/** One flag. `parse` throws {@link FlagRefusal} or TypeError with what is wrong with a value. */
export interface Flag<T> {
  readonly parse: (text: string) => T;
  readonly default: T;
  /** What it does, in the help text. */
  readonly help: string;
  /** The default in the help text, as one would write it; "" = none. Absent: as a string. */
  readonly shown?: string;
  readonly isBoolean?: true;
  /** What stands between the texts of several uses of it. Absent: the last one counts. */
  readonly separator?: string;
}

export type FlagValues<F> = { readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never };

/** A wrong call: its message names the flag. The command answers it with exit status 2 and without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What is wrong with a flag, in words that follow its name: "can not be negative value". */
export class FlagRefusal extends TypeError {
  override readonly name = 'FlagRefusal';
}

const negative = 'can not be negative value';

/** For a value that kube-apiserver knows and this server does not. */
export const notSupported = 'is not supported by this version of kapstan';

export function stringFlag(help: string, defaultValue = ''): Flag<string> {
  return { parse: (text) => text, default: defaultValue, help };
}

/** Empty text = an empty list; items are separated by commas, and several uses add up. */
export function listFlag(help: string, defaultValue: readonly string[] = []): Flag<readonly string[]> {
  return {
    parse: (text) => (text === '' ? [] : text.split(',').map((item) => item.trim())),
    default: defaultValue,
    help,
    separator: ',',
  };
}

const betweenUses = '\0';

/** One item a use: they may hold commas. */
export function repeatedFlag(help: string): Flag<readonly string[]> {
  return { parse: (text) => text.split(betweenUses), default: [], help, shown: '', separator: betweenUses };
}

export function intFlag(
  help: string,
  range: { readonly default: number; readonly min: number; readonly max: number },
): Flag<number> {
  const parse = (text: string): number => {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value < 0 && range.min === 0) throw new FlagRefusal(negative);
    if (Number.isNaN(value) || value < range.min || value > range.max) {
      throw new TypeError(`must be a whole number from ${range.min} to ${range.max}`);
    }
    return value;
  };
  return { parse, default: range.default, help };
}

export function booleanFlag(help: string, defaultValue: boolean): Flag<boolean> {
  const parse = (text: string): boolean => {
    if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
    if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false;
    throw new TypeError('must be true or false');
  };
  return { parse, default: defaultValue, help, isBoolean: true };
}

/** A Go duration such as 1h30m, in milliseconds. Not negative. */
export function durationFlag(help: string, defaultMs: number): Flag<number> {
  const any = anyDurationFlag(help, defaultMs);
  const parse = (text: string): number => {
    const ms = any.parse(text);
    if (ms < 0) throw new FlagRefusal(negative);
    return ms;
  };
  return { ...any, parse };
}

/** The same, for flags that say on their own what is wrong with a negative one. */
export function anyDurationFlag(help: string, defaultMs: number): Flag<number> {
  const parse = (text: string): number => {
    const ms = parseDuration(text);
    if (typeof ms !== 'number') throw new TypeError('must be a duration such as 90s or 1h30m');
    return ms;
  };
  return { parse, default: defaultMs, help, shown: formatDuration(defaultMs) };
}

/** As Go writes it, but without zeros at its end: "1h", "2m30s", "0s". */
function formatDuration(ms: number): string {
  const seconds = ms / 1000;
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor((seconds % 3600) / 60), 'm'],
    [seconds % 60, 's'],
  ] as const;
  const text = parts.flatMap(([count, unit]) => (count === 0 ? [] : [`${count}${unit}`])).join('');
  return text === '' ? '0s' : text;
}

/** A flag of which only the default is taken: anything else is known to kube-apiserver, but not built here. */
export function onlyDefault<T>(flag: Flag<T>): Flag<T> {
  const parse = (text: string): T => {
    const value = flag.parse(text);
    if (value !== flag.default) throw new FlagRefusal(notSupported);
    return value;
  };
  return { ...flag, parse };
}

/**
 * Reads arguments. Throws {@link UsageError} for unknown flags, missing values and stray arguments, and else with all that is
 * wrong with the values together: each by itself, then what `check` says of them, with defaults in the place of bad ones.
 */
export function parseFlags<F extends Readonly<Record<string, Flag<unknown>>>>(
  flags: F,
  args: readonly string[],
  check: (values: FlagValues<F>) => readonly string[] = () => [],
): FlagValues<F> {
  const texts = readTexts(flags, args);
  const errors: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(flags)) {
    const text = texts[name];
    values[name] = flag.default;
    try {
      if (text !== undefined) values[name] = flag.parse(text);
    } catch (error) {
      errors.push(refusalText(name, text, error));
    }
  }
  errors.push(...check(values as FlagValues<F>));
  if (errors.length > 0) throw new UsageError(aggregated(errors));
  return values as FlagValues<F>;
}

function refusalText(name: string, text: string | undefined, error: unknown): string {
  if (error instanceof FlagRefusal) return `--${name} ${error.message}`;
  return `invalid value "${text}" for --${name}: ${(error as Error).message}`;
}

/** Several errors as one text. Source: apimachinery errors.Aggregate. */
function aggregated(errors: readonly string[]): string {
  const texts = [...new Set(errors)];
  return texts.length === 1 ? String(texts[0]) : `[${texts.join(', ')}]`;
}

function readTexts(
  flags: Readonly<Record<string, Flag<unknown>>>,
  args: readonly string[],
): Readonly<Record<string, string | undefined>> {
  const options = Object.fromEntries(
    Object.keys(flags).map((name) => [name, { type: 'string' as const, multiple: true as const }]),
  );
  const texts = parsedArgs(joined(flags, args), options);
  return Object.fromEntries(
    Object.entries(texts).map(([name, uses = []]) => {
      const { separator } = flags[name] as Flag<unknown>;
      return [name, separator === undefined ? uses.at(-1) : uses.join(separator)];
    }),
  );
}

/**
 * Each flag with its value in one argument: a boolean alone is true; any other takes the next argument whatever it looks like,
 * "-5" too. Source: pflag.
 */
function joined(flags: Readonly<Record<string, Flag<unknown>>>, args: readonly string[]): readonly string[] {
  const spelled: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] as string;
    const flag = arg.startsWith('--') ? flags[arg.slice(2)] : undefined;
    const value = flag?.isBoolean === true ? 'true' : args[index + 1];
    if (flag === undefined || value === undefined) spelled.push(arg);
    else {
      spelled.push(`${arg}=${value}`);
      if (flag.isBoolean !== true) index += 1;
    }
  }
  return spelled;
}

function parsedArgs(
  args: readonly string[],
  options: Readonly<Record<string, { readonly type: 'string'; readonly multiple: true }>>,
): Readonly<Record<string, readonly string[] | undefined>> {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(usageText(error as Error), { cause: error });
  }
}

/** Node's message, without its advice on positional arguments. */
function usageText(error: Error): string {
  const unknown = /Unknown option '([^']+)'/.exec(error.message);
  if (unknown?.[1]?.startsWith('--')) return `unknown flag: ${unknown[1]}`;
  if (unknown) return `unknown shorthand flag: '${unknown[1]?.slice(1)}' in ${unknown[1]}`;
  const stray = /Unexpected argument '([^']+)'/.exec(error.message);
  if (stray) return `unexpected argument: ${stray[1]}`;
  const missing = /Option '(--[a-z-]+)/.exec(error.message);
  if (missing) return `flag needs an argument: ${missing[1]}`;
  return error.message;
}

/** The help text: one line a flag. */
export function formatFlags(flags: Readonly<Record<string, Flag<unknown>>>): string {
  const lines = Object.entries(flags).map(([name, flag]) => {
    const shown = flag.shown ?? String(flag.default);
    return `  --${name}${shown === '' ? '' : ` (default ${shown})`}\n        ${flag.help}`;
  });
  return `${lines.join('\n')}\n`;
}
