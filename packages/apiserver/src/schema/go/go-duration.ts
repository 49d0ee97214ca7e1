// Formats durations as Go does. Used by audit-trail.ts and in errors of configuration files. Source: time.Duration.String.

/** Returns, for example, "250ns", "1.5µs", "501.25ms", "1.5s", "2m30s", "-1s". */
export function formatGoDuration(ms: number): string {
  if (ms < 0) return `-${formatGoDuration(-ms)}`;
  const nanos = Math.round(ms * 1e6);
  if (nanos === 0) return '0s';
  if (nanos < 1e3) return `${nanos}ns`;
  if (nanos < 1e6) return `${nanos / 1e3}µs`;
  if (nanos < 1e9) return `${nanos / 1e6}ms`;
  const minutes = Math.floor(nanos / 60e9);
  const seconds = `${(nanos % 60e9) / 1e9}s`;
  if (minutes === 0) return seconds;
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes}m${seconds}` : `${hours}h${minutes % 60}m${seconds}`;
}
