// Values in messages, as Go's %v prints those of cel-go.
import type { CelType } from '../types/cel-type.ts';
import { type AnyList, listItems } from './cel-list.ts';
import { type AnyMap, mapFind, mapKeys } from './cel-map.ts';
import { formatDoubleG } from './go-number.ts';
import { type CelUint, numberOfDouble } from './numbers.ts';
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
    default:
      return String(value);
  }
}

function formatMap(map: AnyMap): string {
  return `{${mapKeys(map)
    .map((key) => `${formatValue(key)}: ${formatValue(mapFind(map, key))}`)
    .join(', ')}}`;
}
