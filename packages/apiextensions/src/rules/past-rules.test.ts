import type {
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { expect, it } from 'vitest';
import { PastRules } from './past-rules.ts';

type Version = CustomResourceDefinitionVersion;

const versionOf = (name: string, description = name): Version => ({
  ...{ name, served: true, storage: false },
  schema: { openAPIV3Schema: { type: 'object', description } },
});

const specOf = (versions: Version[]): CustomResourceDefinitionSpec => ({
  ...{ group: 'example.com', scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' } },
  versions,
});

it('knows the versions whose schemas have not changed', () => {
  const past = new PastRules(
    specOf([versionOf('v1'), versionOf('v2', 'next'), versionOf('v3')]),
    specOf([versionOf('v1'), versionOf('v2')]),
  );
  expect(['v1', 'v2', 'v3', 'v4'].map((name) => past.isUnchanged(name))).toEqual([true, false, false, false]);
});

it('compares with the first of several versions that have the same name', () => {
  const twice = specOf([versionOf('v1'), versionOf('v1', 'other')]);
  expect(new PastRules(twice, specOf([versionOf('v1')])).isUnchanged('v1')).toBe(true);
  expect(new PastRules(specOf([versionOf('v1', 'other')]), twice).isUnchanged('v1')).toBe(false);
});

it('reads the name of each version a few times, however many there are', () => {
  let reads = 0;
  const names = Array.from({ length: 1_000 }, (_, index) => `v${index}`);
  const spec = specOf(
    names.map((name) => ({
      ...versionOf(name),
      get name() {
        reads += 1;
        return name;
      },
    })),
  );
  const past = new PastRules(spec, spec);
  expect(names.every((name) => past.isUnchanged(name))).toBe(true);
  expect(reads).toBeLessThan(10 * names.length);
});
