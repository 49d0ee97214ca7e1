import { defineResource } from '@kapstan/api';
import { expect, it } from 'vitest';
import { definitionErrors } from './definition-errors.ts';

const echo = (rule: string) =>
  defineResource({
    group: 'demo.dev',
    version: 'v1',
    kind: 'Echo',
    spec: {
      type: 'object',
      properties: { text: { type: 'string', maxLength: 9 } },
      'x-kubernetes-validations': [{ rule }],
    },
  }).definition;

it('checks a definition without a server', () => {
  const good = echo('self.text != "a"');
  const before = JSON.stringify(good);
  expect(definitionErrors(good)).toEqual([]);
  expect(JSON.stringify(good)).toBe(before);
  const [error, ...more] = definitionErrors(echo('self.txet != "a"'));
  expect(error).toContain(
    'spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value',
  );
  expect(error).toContain("undefined field 'txet'");
  expect(more).toEqual([]);
  expect(definitionErrors({ kind: 'CustomResourceDefinition' })).toEqual(['spec: Required value']);
});
