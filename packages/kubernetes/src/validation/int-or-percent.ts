// Numbers that may be given as a percentage: maxSurge, maxUnavailable, minAvailable. Source: pkg/apis/apps/validation.

import type { Field } from '@kapstan/apiserver/internal';
import type { IntOrString } from '@kapstan/kinds';
import { percentErrors } from './value-rules.ts';

/** Source: ValidatePositiveIntOrPercent. */
export function validateIntOrPercent(at: Field, value: IntOrString | undefined): void {
  if (typeof value === 'string') at.invalidAll(value, percentErrors(value));
  else at.nonNegative(value);
}

/** Source: IsNotMoreThan100Percent. */
export function validateAtMost100Percent(at: Field, value: IntOrString | undefined): void {
  if ((percentOf(value) ?? 0) > 100) at.invalid(value, 'must not be greater than 100%');
}

/** Returns the number before the "%"; undefined when the value is not a percentage. */
function percentOf(value: IntOrString | undefined): number | undefined {
  return typeof value === 'string' && percentErrors(value).length === 0 ? Number(value.slice(0, -1)) : undefined;
}

/** True for 0, "0%", absent, and text that is not a number. Source: getIntOrPercentValue. */
export function isZero(value: IntOrString | undefined): boolean {
  if (typeof value !== 'string') return (value ?? 0) === 0;
  return (percentOf(value) ?? (/^[+-]?\d+$/.test(value) ? Number(value) : 0)) === 0;
}
