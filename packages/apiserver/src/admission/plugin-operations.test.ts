import { systemClock } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { alwaysAllow } from '../authz/authorizer.ts';
import { ResourceCatalog } from '../registry/catalog.ts';
import { defaultPlugins, optionalPlugins } from './built-in-plugins.ts';
import { operationsOf } from './plugin-operations.ts';

describe('what a plug-in is asked about', () => {
  const ports = { catalog: new ResourceCatalog(), authorizer: alwaysAllow, clock: systemClock, random: () => 0 };

  it.each([...defaultPlugins(ports), ...optionalPlugins(ports)].map(({ name }) => name))('is listed for %s', (name) => {
    expect(operationsOf(name)).not.toEqual([]);
  });

  it('is never guessed', () => {
    expect(() => operationsOf('PodSecurity')).toThrow(
      new TypeError('what the admission plug-in PodSecurity is asked about is not listed'),
    );
  });
});
