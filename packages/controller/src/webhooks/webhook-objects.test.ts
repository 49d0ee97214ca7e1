import { type DefinedResource, defineResource } from '@kapstan/api';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { expect, it } from 'vitest';
import { definitionWithVersions } from './webhook-objects.ts';

const kind = { group: 'demo.dev', kind: 'Echo' };
const spec = { type: 'object', properties: { text: { type: 'string' } } } as const;
const Echo = defineResource({ ...kind, version: 'v1', spec, versions: { v1beta1: { spec } } });
const conversion = { strategy: 'Webhook', webhook: {} };
const specOf = ({ definition }: DefinedResource) => (definition as CustomResourceDefinition).spec;

it('gives a definition of several versions its conversion, also when converts() names no resources', () => {
  const made = specOf(definitionWithVersions(Echo, [], conversion));
  expect(made.versions.map(({ name }) => name)).toEqual(['v1', 'v1beta1']);
  expect(made.conversion).toEqual(conversion);
});

it('has each version once, and refuses one that is described twice and differently', () => {
  const old = defineResource({ ...kind, version: 'v1beta1', spec });
  const made = specOf(definitionWithVersions(Echo, [old], conversion));
  expect(made.versions.map(({ name, storage }) => `${name} ${storage}`)).toEqual(['v1 true', 'v1beta1 false']);
  const other = defineResource({ ...kind, version: 'v1beta1', spec: { type: 'object' } });
  expect(() => definitionWithVersions(Echo, [other], conversion)).toThrow(
    'the version v1beta1 of echos.demo.dev is described twice',
  );
});
