// Formats ages as kubectl prints them: "5s", "3m20s", "2d4h". Source: apimachinery duration.HumanDuration.

/**
 * Uses whole units and omits the smaller one when it is zero. Below -1 s it returns "<invalid>" (clocks disagree), from
 * -1 to 0 s "0s".
 */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return `${minutes}m${unlessZero(seconds % 60, 's')}`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return `${hours}h${unlessZero(minutes % 60, 'm')}`;
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return `${days}d${unlessZero(hours % 24, 'h')}`;
  if (days < 730) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (years < 8) return `${years}y${unlessZero(days % 365, 'd')}`;
  return `${years}y`;
}

function unlessZero(value: number, unit: string): string {
  return value === 0 ? '' : `${value}${unit}`;
}
