import type { UnstructuredObject } from '@kapstan/api';
import { formatFieldError } from '@kapstan/api/errors';
import { testContext } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import { definitionOf } from '../../testing/status-endpoint.ts';

function refusals(ipBlock: object): string[] {
  const spec = { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ ipBlock }] }] };
  const object = { metadata: { name: 'x' }, spec } as unknown as UnstructuredObject;
  const errors = definitionOf('networkpolicies').strategy.validateCreate(object, testContext());
  return errors.map(formatFieldError).map((text) => text.replace('spec.ingress[0].from[0].ipBlock.', ''));
}

describe('a block of addresses', () => {
  it.each<readonly [about: string, block: object, refused: readonly string[]]>([
    ['and what is out of it', { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] }, []],
    [
      'in a form that is not usual is compared all the same',
      { cidr: '1.1.1.1/8', except: ['1::/16', 'x'] },
      [
        'cidr: Invalid value: "1.1.1.1/8": must not have bits set beyond the prefix length',
        'except[0]: Invalid value: "1::/16": must be a strict subset of `cidr`',
        'except[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
    ],
  ])('%s', (_about, block, refused) => {
    expect(refusals(block)).toEqual(refused);
  });
});
