import { collectFieldErrors } from '@kapstan/apiserver/internal';
import { describe, expect, it } from 'vitest';
import { isWhole, validateResourceRequirements } from './resource-rules.ts';

const messagesOf = (resources: Parameters<typeof validateResourceRequirements>[1]): string[] =>
  collectFieldErrors((root) => validateResourceRequirements(root.child('r'), resources)).map(
    (error) => `${error.field}: ${error.detail}`,
  );

describe('resources of a container', () => {
  it.each([
    ['equal amounts in other words', { limits: { cpu: '1' }, requests: { cpu: '1000m' } }, []],
    [
      'a request above the limit',
      { limits: { memory: '1Gi' }, requests: { memory: '2Gi' } },
      ['r.requests: must be less than or equal to memory limit of 1Gi'],
    ],
    [
      'an extended resource below its limit',
      { limits: { 'example.com/gpu': '2' }, requests: { 'example.com/gpu': '1' } },
      ['r.requests: must be equal to example.com/gpu limit of 2'],
    ],
    [
      'an extended resource without a limit',
      { requests: { 'example.com/gpu': '1' } },
      ['r.limits: Limit must be set for non overcommitable resources'],
    ],
    ['huge pages', { limits: { 'hugepages-2Mi': '4Mi', cpu: 1 }, requests: { 'hugepages-2Mi': '4Mi' } }, []],
    ['huge pages alone', { limits: { 'hugepages-2Mi': '4Mi' } }, ['r: HugePages require cpu or memory']],
    [
      'half a huge page',
      { limits: { 'hugepages-2Mi': '1Mi', memory: '1Gi' } },
      ['r.limits[hugepages-2Mi]: 1Mi is not positive integer multiple of hugepages-2Mi'],
    ],
    [
      'a resource that containers have not',
      { limits: { pods: '1' } },
      ['r.limits[pods]: must be a standard resource for containers'],
    ],
  ])('%s', (_name, resources, expected) => {
    expect(messagesOf(resources)).toEqual(expected);
  });

  it('whole amounts have no thousandths', () => {
    expect([isWhole('1'), isWhole('2Ki'), isWhole('1500m'), isWhole('2000m')]).toEqual([true, true, false, true]);
  });
});
