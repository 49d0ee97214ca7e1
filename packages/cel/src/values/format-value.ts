// Formats values in messages as Go's %v formats the values of cel-go.
import type { CelType } from '../types/cel-type.ts';
import { type AnyList, listItems } from './cel-list.ts';
import { type AnyMap, mapFind, mapKeys } from './cel-map.ts';
import type { CelDuration } from './duration.ts';
import { formatDoubleG } from './go-number.ts';
import { type CelUint, numberOfDouble } from './numbers.ts';
import type { CelOptional } from './optional.ts';
import type { CelTimestamp } from './timestamp.ts';
import { kindOf } from './value.ts';

export function formatValue(value: unknown): string {
  switch (kindOf(value)) {
    case 'uint':
      return String((value as CelUint).value);
    case 'double':
      return formatDoubleG(numberOfDouble(value));
    case 'null':
      return '0';
    case 'bytes':
      return `[${Array.from(value as Uint8Array).join(' ')}]`;
    case 'list':
      return `[${listItems(value as AnyList)
        .map(formatValue)
        .join(', ')}]`;
    case 'map':
      return formatMap(value as AnyMap);
    case 'type':
      return (value as CelType).toString();
    case 'timestamp':
      return formatTime(value as CelTimestamp);
    case 'duration':
      return formatDuration((value as CelDuration).nanos);
    case 'optional':
      return formatOptional(value as CelOptional);
    default:
      return String(value);
  }
}

/** Formats like Go's Time.String. */
function formatTime(timestamp: CelTimestamp): string {
  const text = timestamp.toString();
  const zone = /[-+]\d\d:\d\d$/.exec(text)?.[0];
  const clock = text.replace(/(?:Z|[-+]\d\d:\d\d)$/, '').replace('T', ' ');
  return zone === undefined ? `${clock} +0000 UTC` : `${clock} ${zone.replace(':', '')} ${zone.replace(':', '')}`;
}

/** Formats like Go's Duration.String: 1h30m0s, 1.5ms. */
function formatDuration(nanos: bigint): string {
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  if (size === 0n) return '0s';
  if (size < 1_000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${decimal(size, 1_000n)}\u00b5s`;
  if (size < 1_000_000_000n) return `${sign}${decimal(size, 1_000_000n)}ms`;
  const minutes = size / 60_000_000_000n;
  const seconds = `${decimal(size % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return sign + seconds;
  return minutes < 60n ? `${sign}${minutes}m${seconds}` : `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, unit: bigint): string {
  const digits = String(unit).length - 1;
  const fraction = String(value % unit)
    .padStart(digits, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(value / unit) : `${value / unit}.${fraction}`;
}

function formatOptional(optional: CelOptional): string {
  return optional.hasValue ? `optional(${formatValue(optional.value)})` : 'optional.none()';
}

function formatMap(map: AnyMap): string {
  return `{${mapKeys(map)
    .map((key) => `${formatValue(key)}: ${formatValue(mapFind(map, key))}`)
    .join(', ')}}`;
}
