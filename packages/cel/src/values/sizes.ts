// Sizes: code points of a text, bytes, elements of a list, entries of a map. Costs depend on them.

import { type AnyList, listSize } from './cel-list.ts';
import { type AnyMap, mapSize } from './cel-map.ts';
import type { CelObject } from './cel-object.ts';
import { codePointCount } from './code-points.ts';
import { CelOptional } from './optional.ts';
import { kindOf } from './value.ts';

/** Returns the result of `size(value)`; undefined for values without a size. */
export function sizeOf(value: unknown): number | undefined {
  if (typeof value === 'string') return codePointCount(value);
  switch (kindOf(value)) {
    case 'bytes':
      return (value as Uint8Array).length;
    case 'list':
      return listSize(value as AnyList);
    case 'map':
      return mapSize(value as AnyMap);
    default:
      return undefined;
  }
}

/** Returns the size for costs: 1 for values without a size. */
export function costSize(value: unknown): number {
  const size = sizeOf(value);
  if (size !== undefined) return size;
  if (value instanceof CelOptional && value.hasValue) return costSize(value.value);
  return kindOf(value) === 'object' ? ((value as CelObject).size ?? 1) : 1;
}

/** Returns the number of bytes of a text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 ? 1 : 2;
    // A surrogate pair takes four bytes.
    if (unit >= 0xd800 && unit <= 0xdbff && isLowSurrogate(text.charCodeAt(i + 1))) i++;
  }
  return bytes;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
