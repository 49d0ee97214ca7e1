// Checks texts of DNS subdomains between slashes, as paths of webhooks and names of pools are. Such a text may have a
// million segments, so they are read in one pass and only those whose errors the answer shows are cut out.
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import { maxToldErrors } from '@kapstan/api/internal';
import type { Field } from './field.ts';

const slash = 0x2f;
const dot = 0x2e;
const dash = 0x2d;

/** A segment that is not longer has one error at most, whatever its characters: it takes at most 252 bytes. */
const surelyShort = 84;
const maxLength = 253;

/**
 * Finds the segments that are no subdomains. `tell` reports one error, for a message of {@link dnsSubdomainErrors}.
 */
export function validateSubdomainSegments(
  at: Field,
  text: string,
  tell: (segment: string, message: string, index: number) => void,
): void {
  let start = 0;
  let index = 0;
  let uncut = 0;
  let before = slash;
  let isWrong = false;
  const ended = `${text}/`;
  for (let i = 0; i < ended.length; i++) {
    const unit = ended.charCodeAt(i);
    if (!mayFollow(unit, before)) isWrong = true;
    before = unit;
    if (unit !== slash) continue;
    const length = i - start;
    if (isWrong && length <= surelyShort && at.errorCount >= maxToldErrors) uncut += 1;
    else if (isWrong || length > maxLength) {
      const segment = text.slice(start, i);
      for (const message of dnsSubdomainErrors(segment)) tell(segment, message, index);
    }
    start = i + 1;
    index += 1;
    isWrong = false;
  }
  at.times(uncut, (place) => place.invalid('', ''));
}

function isAlphanumeric(unit: number): boolean {
  return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
}

function mayFollow(unit: number, before: number): boolean {
  if (isAlphanumeric(unit)) return true;
  if (unit === dash) return before === dash || isAlphanumeric(before);
  return (unit === dot || unit === slash) && isAlphanumeric(before);
}
