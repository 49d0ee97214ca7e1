// Texts of the Go library: TestLimitRangerIgnoresSubresource and others of plugin/pkg/admission/limitranger.
import { parseQuantity, type Quantity } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { type Constraint, maximum, maximumRatio, maximumRequest, minimum } from './limit-constraints.ts';

function amounts(text: string | undefined): ReadonlyMap<string, Quantity> {
  return new Map(text === undefined ? [] : [['cpu', parseQuantity(text)]]);
}

function fault(constraint: Constraint, bound: string, request?: string, limit?: string): string | undefined {
  const asked = { type: 'Container', requests: amounts(request), limits: amounts(limit) };
  return constraint(asked, { resource: 'cpu', amount: parseQuantity(bound) });
}

describe('a bound of a limit range', () => {
  it.each<[Constraint, string, string | undefined, string | undefined, string | undefined]>([
    [minimum, '100m', undefined, '1', 'minimum cpu usage per Container is 100m.  No request is specified'],
    [minimum, '100m', '99m', '1', 'minimum cpu usage per Container is 100m, but request is 99m'],
    [minimum, '100m', '100m', '50m', 'minimum cpu usage per Container is 100m, but limit is 50m'],
    [minimum, '100m', '100m', undefined, undefined],
    [minimum, '100m', '0.1', '100m', undefined],
    [maximum, '1', '1', undefined, 'maximum cpu usage per Container is 1.  No limit is specified'],
    [maximum, '1', undefined, '1001m', 'maximum cpu usage per Container is 1, but limit is 1001m'],
    [maximum, '1', '2', '1', 'maximum cpu usage per Container is 1, but request is 2'],
    [maximum, '1', undefined, '1', undefined],
    [maximumRequest, '1', undefined, undefined, 'maximum cpu usage per Container is 1.  No request is specified'],
    [maximumRequest, '1', '2', undefined, 'maximum cpu usage per Container is 1, but request is 2'],
    [maximumRequest, '1', '1', undefined, undefined],
    [
      maximumRatio,
      '2',
      undefined,
      '1',
      'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
    ],
    [
      maximumRatio,
      '2',
      '0',
      '1',
      'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
    ],
    [
      maximumRatio,
      '2',
      '1',
      undefined,
      'cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0',
    ],
    [
      maximumRatio,
      '1500m',
      '1',
      '2',
      'cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000',
    ],
    [maximumRatio, '2', '3', '7', 'cpu max limit to request ratio per Container is 2, but provided ratio is 2.333333'],
    [maximumRatio, '1500m', '2', '3', undefined],
  ])('%o of %s with request %s and limit %s: %s', (constraint, bound, request, limit, expected) => {
    expect(fault(constraint, bound, request, limit)).toBe(expected);
  });

  it('compares thousandths, rounded up, unless an amount has too many of them', () => {
    expect(fault(minimum, '100m', '99900u')).toBeUndefined();
    expect(fault(maximum, '1', undefined, '1000001u')).toBe(
      'maximum cpu usage per Container is 1, but limit is 1000001u',
    );
    expect(fault(maximum, '9223372036854776', undefined, '9223372036854775500m')).toBeUndefined();
    expect(fault(maximum, '9223372036854776', undefined, '9223372036854776001m')).toMatch(/but limit is/);
  });
});
