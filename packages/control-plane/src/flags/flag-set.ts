// Command-line flags in the style of the Kubernetes commands: --name=value or --name value, booleans with or without a
// value, errors that name the flag. Built on node:util parseArgs. Used by serve-flags.ts and store-command.ts.
import { isIP } from 'node:net';
import { parseArgs } from 'node:util';
import { parseDuration } from '@kapstan/api';
import { formatGoDuration } from '@kapstan/apiserver';

/** One flag. `parse` throws {@link FlagSyntax}, {@link FlagRefusal} or another TypeError that describes the fault of the value. */
export interface Flag<T> {
  readonly parse: (text: string) => T;
  readonly default: T;
  /** Description in the help text. */
  readonly help: string;
  /** Default as written in the help text; "" = none. Absent = the default as a string. */
  readonly shown?: string;
  /**
   * Formats a value for /flagz. Absent = lists in brackets, anything else as a string. It is a method, so that flags of all types fit one
   * table.
   */
  format?(value: T): string;
  readonly isBoolean?: true;
  /** True = the flag may be given without a value; the next argument is its value unless it looks like a flag. */
  readonly isOptional?: true;
  /** Joins the texts when the flag is used several times. Absent: the last one counts. */
  readonly separator?: string;
}

export type FlagValues<F> = { readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never };

/** Wrong usage; the message names the flag. The command prints it without a stack and exits with status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A refused value, in words that follow the flag's name: "can not be negative value". */
export class FlagRefusal extends TypeError {
  override readonly name = 'FlagRefusal';
}

/** A value of the wrong type, such as a word for a number. The first one stops parsing, as in pflag. */
export class FlagSyntax extends TypeError {
  override readonly name = 'FlagSyntax';
}

const negative = 'can not be negative value';

/** Error text for a value that kube-apiserver accepts and this server does not. */
export const notSupported = 'is not supported by this version of kapstan';

export function stringFlag(help: string, defaultValue = ''): Flag<string> {
  return { parse: (text) => text, default: defaultValue, help };
}

/** Returns a flag with a comma-separated list; empty text means an empty list, and several uses add up. */
export function listFlag(help: string, defaultValue: readonly string[] = []): Flag<readonly string[]> {
  return {
    parse: (text) => (text === '' ? [] : text.split(',').map((item) => item.trim())),
    default: defaultValue,
    help,
    separator: ',',
  };
}

const betweenUses = '\0';

/** Returns a flag with one item for each use, because items may contain commas. */
export function repeatedFlag(help: string): Flag<readonly string[]> {
  return { parse: (text) => text.split(betweenUses), default: [], help, shown: '', separator: betweenUses };
}

/** Makes a flag undefined until it is given, for flags that exclude others. Its default is shown, and is used elsewhere. */
export function untilGiven<T>(flag: Flag<T>): Flag<T | undefined> {
  const { default: otherwise, shown = String(otherwise) } = flag;
  const format = (value: T | undefined): string => formatFlag(flag, value ?? otherwise);
  return { ...flag, default: undefined, shown, format };
}

/** Writes a value as /flagz shows it. */
export function formatFlag<T>(flag: Flag<T>, value: T): string {
  if (flag.format !== undefined) return flag.format(value);
  return Array.isArray(value) ? `[${value.join(',')}]` : String(value);
}

export function intFlag(
  help: string,
  range: { readonly default: number; readonly min: number; readonly max: number },
): Flag<number> {
  const parse = (text: string): number => {
    const allowed = `must be a whole number from ${range.min} to ${range.max}`;
    if (!/^-?\d+$/.test(text)) throw new FlagSyntax(allowed);
    const value = Number(text);
    if (value < 0 && range.min === 0) throw new FlagRefusal(negative);
    if (value < range.min || value > range.max) throw new TypeError(allowed);
    return value;
  };
  return { parse, default: range.default, help };
}

/** Accepts any finite number, such as 0.5 or 1e3. */
export function floatFlag(help: string, defaultValue: number): Flag<number> {
  const parse = (text: string): number => {
    const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
    if (!Number.isFinite(value)) throw new FlagSyntax('must be a number');
    return value;
  };
  return { parse, default: defaultValue, help };
}

export function booleanFlag(help: string, defaultValue: boolean): Flag<boolean> {
  const parse = (text: string): boolean => {
    if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
    if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false;
    throw new FlagSyntax('must be true or false');
  };
  return { parse, default: defaultValue, help, isBoolean: true };
}

/** Accepts an IP address, not a name. Source: pflag ipValue. */
export function ipFlag(help: string, defaultValue = ''): Flag<string> {
  const parse = (text: string): string => {
    const address = text.trim();
    if (isIP(address) === 0 || address.includes('%')) {
      throw new FlagSyntax(`failed to parse IP: ${JSON.stringify(address)}`);
    }
    return address;
  };
  return { parse, default: defaultValue, help };
}

/** A flag of kube-apiserver that is not built here: refused whatever its value. */
export const refusedFlag: Flag<undefined> = {
  parse: () => {
    throw new FlagRefusal(notSupported);
  },
  default: undefined,
  help: '',
  isOptional: true,
};

/** Returns a flag with a Go duration such as 1h30m, in milliseconds. It refuses negative values. */
export function durationFlag(help: string, defaultMs: number): Flag<number> {
  const any = anyDurationFlag(help, defaultMs);
  const parse = (text: string): number => {
    const ms = any.parse(text);
    if (ms < 0) throw new FlagRefusal(negative);
    return ms;
  };
  return { ...any, parse };
}

/** Like durationFlag, but accepts negative values, for flags with their own error text for those. */
export function anyDurationFlag(help: string, defaultMs: number): Flag<number> {
  const parse = (text: string): number => {
    const ms = parseDuration(text);
    if (typeof ms !== 'number') throw new FlagSyntax('must be a duration such as 90s or 1h30m');
    return ms;
  };
  return { parse, default: defaultMs, help, shown: formatDuration(defaultMs), format: formatGoDuration };
}

/** Formats a duration as Go does but without trailing zeros: "1h", "2m30s", "0s". */
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

/** Returns a flag that accepts only its default: kube-apiserver has other values, which are not built here. */
export function onlyDefault<T>(flag: Flag<T>): Flag<T> {
  const parse = (text: string): T => {
    const value = flag.parse(text);
    if (value !== flag.default) throw new FlagRefusal(notSupported);
    return value;
  };
  return { ...flag, parse };
}

/**
 * Parses arguments. Throws {@link UsageError} at once for the first argument that is not a flag, lacks its value or has a value of the
 * wrong type. Otherwise throws all refused values together: first each flag's own error, then the errors of `check`, which sees defaults in
 * place of bad values. Source: pflag stops at its first error, kube-apiserver's Validate does not.
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
    const text = texts.get(name);
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

/** Joins several errors into one text. Source: apimachinery errors.Aggregate. */
function aggregated(errors: readonly string[]): string {
  const texts = [...new Set(errors)];
  return texts.length === 1 ? String(texts[0]) : `[${texts.join(', ')}]`;
}

/** Returns the text of each flag that is given; several uses of a flag are joined. */
function readTexts(
  flags: Readonly<Record<string, Flag<unknown>>>,
  args: readonly string[],
): ReadonlyMap<string, string> {
  const { tokens } = parseArgs({ args: joined(flags, args), strict: false, tokens: true });
  const texts = new Map<string, string>();
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') throw new UsageError(`unexpected argument: ${token.value}`);
    const { name, rawName, value } = token;
    const flag = knownFlag(flags, rawName);
    if (value === undefined) throw new UsageError(`flag needs an argument: ${rawName}`);
    refuseSyntax(flag, name, value);
    const before = flag.separator === undefined ? undefined : texts.get(name);
    texts.set(name, before === undefined ? value : `${before}${flag.separator}${value}`);
  }
  return texts;
}

function knownFlag(flags: Readonly<Record<string, Flag<unknown>>>, rawName: string): Flag<unknown> {
  if (!rawName.startsWith('--')) {
    throw new UsageError(`unknown shorthand flag: '${rawName.slice(1)}' in ${rawName}`);
  }
  const name = rawName.slice(2);
  if (!Object.hasOwn(flags, name)) throw new UsageError(`unknown flag: ${rawName}`);
  return flags[name] as Flag<unknown>;
}

/**
 * Throws only for a value of the wrong type. Other errors are reported later, together with the errors of other flags.
 */
function refuseSyntax(flag: Flag<unknown>, name: string, text: string): void {
  try {
    flag.parse(text);
  } catch (error) {
    if (error instanceof FlagSyntax) throw new UsageError(refusalText(name, text, error), { cause: error });
  }
}

/** Joins each flag with its value into one argument. */
function joined(flags: Readonly<Record<string, Flag<unknown>>>, args: readonly string[]): string[] {
  const spelled: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] as string;
    const name = arg.startsWith('--') ? arg.slice(2) : '';
    if (!Object.hasOwn(flags, name)) {
      spelled.push(arg);
      continue;
    }
    const value = valueBeside(flags[name] as Flag<unknown>, args[index + 1]);
    if (value === undefined) throw new UsageError(`flag needs an argument: ${arg}`);
    spelled.push(`${arg}=${value.text}`);
    if (value.isNext) index += 1;
  }
  return spelled;
}

/** A boolean without a value is true; any other flag takes the next argument, even one like "-5". Source: pflag. */
function valueBeside(
  flag: Flag<unknown>,
  next: string | undefined,
): { readonly text: string; readonly isNext: boolean } | undefined {
  if (flag.isBoolean) return { text: 'true', isNext: false };
  if (flag.isOptional && (next === undefined || next.startsWith('-'))) return { text: '', isNext: false };
  return next === undefined ? undefined : { text: next, isNext: true };
}

/** Returns the help text: two lines for each flag. */
export function formatFlags(flags: Readonly<Record<string, Flag<unknown>>>): string {
  const lines = Object.entries(flags).map(([name, flag]) => {
    const shown = flag.shown ?? String(flag.default);
    return `  --${name}${shown === '' ? '' : ` (default ${shown})`}\n        ${flag.help}`;
  });
  return `${lines.join('\n')}\n`;
}
