import { formatFieldError } from '@kapstan/api/errors';
import { testContext } from '@kapstan/apiserver/testing';
import type { Namespace } from '@kapstan/kinds/core/v1';
import { expect, it } from 'vitest';
import { definitionOf } from '../../testing/status-endpoint.ts';

const { applyDefaults, strategy } = definitionOf('namespaces');
const label = 'kubernetes.io/metadata.name';

it('gives a namespace the label of its name at once, and one with a generated name when that was found valid', () => {
  const named: Namespace = { metadata: { name: 'a' } };
  applyDefaults(named as never);
  expect(named.metadata?.labels).toEqual({ [label]: 'a' });

  const generated: Namespace = { metadata: { generateName: '..' } };
  applyDefaults(generated as never);
  generated.metadata = { ...generated.metadata, name: '..x' };
  strategy.prepareForCreate(generated as never, testContext());
  const errors = strategy.validateCreate(generated as never, testContext()).map(formatFieldError);
  expect(errors.filter((text) => text.includes('labels'))).toEqual([]);
  strategy.canonicalize?.(generated as never);
  expect(generated.metadata?.labels).toEqual({ [label]: '..x' });
});
