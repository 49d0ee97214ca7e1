// Durations as Go writes them, in flags, in ?timeout= and in objects.

const unitMs: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/**
 * Returns "1h2m3.5s" in milliseconds, or Go's error for malformed text. Source: time.ParseDuration.
 *
 * @example
 * ```ts
 * import { parseDuration } from '@kapstan/api';
 *
 * parseDuration('1h30m'); // 5400000
 * parseDuration('soon'); // { error: 'time: invalid duration "soon"' }
 * ```
 */
export function parseDuration(text: string): number | { readonly error: string } {
  const shown = JSON.stringify(text);
  const sign = text.startsWith('-') ? -1 : 1;
  let rest = text.replace(/^[-+]/, '');
  if (rest === '0') return 0;
  if (rest === '') return { error: `time: invalid duration ${shown}` };
  let totalMs = 0;
  while (rest !== '') {
    const [part = '', digits = '', unit = ''] = /^(\d+\.?\d*|\.\d+)([^\d.]*)/.exec(rest) ?? [];
    if (digits === '') return { error: `time: invalid duration ${shown}` };
    if (unit === '') return { error: `time: missing unit in duration ${shown}` };
    const factor = unitMs.get(unit);
    if (factor === undefined) return { error: `time: unknown unit ${JSON.stringify(unit)} in duration ${shown}` };
    totalMs += Number(digits) * factor;
    rest = rest.slice(part.length);
  }
  return sign * totalMs;
}
