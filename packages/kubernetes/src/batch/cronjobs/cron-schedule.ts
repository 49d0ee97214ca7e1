// Parses schedules of cron jobs: five fields, or forms such as "@every 1h". Source: robfig/cron ParseStandard.

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const fields: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: days },
];
const descriptors = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

/** Returns the fault of a schedule, in the parser's words; undefined = none. */
export function cronScheduleError(schedule: string): string | undefined {
  if (schedule === '') return 'empty spec string';
  if (schedule.startsWith('@')) return descriptorError(schedule);
  const parts = schedule.trim().split(/\s+/);
  if (parts.length !== fields.length)
    return `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(' ')}]`;
  for (const [index, bounds] of fields.entries()) {
    for (const expression of (parts[index] ?? '').split(',')) {
      const error = rangeError(expression, bounds);
      if (error !== undefined) return error;
    }
  }
  return undefined;
}

function descriptorError(schedule: string): string | undefined {
  if (descriptors.includes(schedule)) return undefined;
  const every = '@every ';
  if (!schedule.startsWith(every)) return `unrecognized descriptor: ${schedule}`;
  const duration = schedule.slice(every.length);
  if (/^([+-]?(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))+$/.test(duration)) return undefined;
  return `failed to parse duration ${schedule}: time: invalid duration ${JSON.stringify(duration)}`;
}

/** Checks one of "*", "?", "n", "n-m", "any/step". Source: getRange. */
function rangeError(expression: string, bounds: Bounds): string | undefined {
  const [range = '', step, ...moreSteps] = expression.split('/');
  const [low = '', high, ...moreEnds] = range.split('-');
  if (moreEnds.length > 0) return `too many hyphens: ${expression}`;
  if (moreSteps.length > 0) return `too many slashes: ${expression}`;
  const stepSize = step === undefined ? 1 : numberOf(step);
  if (typeof stepSize === 'string') return stepSize;
  if (stepSize === 0) return `step of range should be a positive number: ${expression}`;
  if (low === '*' || low === '?') return undefined;
  return endsError(expression, { low, high, bounds, hasStep: step !== undefined });
}

function endsError(
  expression: string,
  {
    low,
    high,
    bounds,
    hasStep,
  }: { readonly low: string; readonly high: string | undefined; readonly bounds: Bounds; readonly hasStep: boolean },
): string | undefined {
  const start = numberOf(low, bounds);
  if (typeof start === 'string') return start;
  const end = high === undefined ? (hasStep ? bounds.max : start) : numberOf(high, bounds);
  if (typeof end === 'string') return end;
  if (start < bounds.min) return `beginning of range (${start}) below minimum (${bounds.min}): ${expression}`;
  if (end > bounds.max) return `end of range (${end}) above maximum (${bounds.max}): ${expression}`;
  return start > end ? `beginning of range (${start}) beyond end of range (${end}): ${expression}` : undefined;
}

/** Returns the value of a number or name, or a text about its fault. */
function numberOf(text: string, bounds?: Bounds): number | string {
  const named = bounds?.names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return named + (bounds?.min ?? 0);
  if (/^-\d+$/.test(text)) return `negative number (${text}) not allowed: ${text}`;
  if (/^\+?\d+$/.test(text)) return Number(text);
  return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
}
