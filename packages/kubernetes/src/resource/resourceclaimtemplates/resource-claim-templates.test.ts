import type { UnstructuredObject } from '@kapstan/api';
import { deepCopy } from '@kapstan/api';
import { formatFieldError } from '@kapstan/api/errors';
import { testContext } from '@kapstan/apiserver/testing';
import { expect, it } from 'vitest';
import { definitionOf } from '../../testing/status-endpoint.ts';

const template = (name: string): UnstructuredObject => {
  const object = {
    metadata: { name: 'x' },
    spec: { spec: { devices: { requests: [{ name, exactly: { deviceClassName: 'c' } }] } } },
  };
  definitionOf('resourceclaimtemplates').applyDefaults(object);
  return object;
};

it('gives the claims of a template the defaults of claims', () => {
  expect(template('a')).toMatchObject({
    spec: { spec: { devices: { requests: [{ exactly: { allocationMode: 'ExactCount', count: 1 } }] } } },
  });
});

it('refuses a change of what a template makes', () => {
  const { strategy } = definitionOf('resourceclaimtemplates');
  const old = template('a');
  expect(strategy.validateUpdate(deepCopy(old), old, testContext())).toEqual([]);
  const errors = strategy.validateUpdate(template('b'), old, testContext()).map(formatFieldError);
  expect(errors).toEqual([expect.stringMatching(/^spec: Invalid value: .*: field is immutable$/)]);
});

it('leaves a spec alone that an older version accepted', () => {
  const { strategy } = definitionOf('resourceclaimtemplates');
  const old = template('Not a name');
  expect(strategy.validateCreate(old, testContext()).length).toBeGreaterThan(0);
  expect(strategy.validateUpdate(deepCopy(old), old, testContext())).toEqual([]);
});
