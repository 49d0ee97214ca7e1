import { describe, expect, expectTypeOf, it } from 'vitest';
import { defineResource, isDefinedResource } from './define-resource.ts';
import type { ResourceDefinitionSpec } from './definition-spec.ts';
import type { ObjectSchema } from './object-schema.ts';
import { type ObjectOf, resource } from './resource.ts';

const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  shortNames: ['ec'],
  columns: [{ name: 'Text', type: 'string', jsonPath: '.spec.text' }],
  spec: {
    type: 'object',
    properties: {
      text: { type: 'string', maxLength: 1000 },
      copies: { type: 'integer', minimum: 1 },
      mode: { type: 'string', enum: ['loud', 'quiet'] },
      port: { 'x-kubernetes-int-or-string': true },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
      parts: { type: 'array', items: { type: 'object', properties: { on: { type: 'boolean', nullable: true } } } },
      any: { type: 'object' },
    },
    required: ['text', 'mode'],
  },
  status: { type: 'object', properties: { ready: { type: 'integer' } } },
});

describe('defineResource', () => {
  it('gives the resource and its definition', () => {
    expect(Echo).toMatchObject({
      group: 'demo.dev',
      version: 'v1',
      kind: 'Echo',
      plural: 'echos',
      scope: 'Namespaced',
    });
    expect(Echo.definition).toMatchObject({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'echos.demo.dev' },
      spec: {
        group: 'demo.dev',
        scope: 'Namespaced',
        names: { kind: 'Echo', plural: 'echos', singular: 'echo', listKind: 'EchoList', shortNames: ['ec'] },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            subresources: { status: {} },
            additionalPrinterColumns: [{ name: 'Text', type: 'string', jsonPath: '.spec.text' }],
            schema: { openAPIV3Schema: { type: 'object', required: ['spec'] } },
          },
        ],
      },
    });
  });

  it('types the objects by their schemas', () => {
    type Spec = ObjectOf<typeof Echo>['spec'];
    expectTypeOf<Spec['text']>().toEqualTypeOf<string>();
    expectTypeOf<Spec['copies']>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Spec['mode']>().toEqualTypeOf<'loud' | 'quiet'>();
    expectTypeOf<Spec['port']>().toEqualTypeOf<number | string | undefined>();
    expectTypeOf<Spec['labels']>().toEqualTypeOf<Record<string, string> | undefined>();
    expectTypeOf<NonNullable<Spec['parts']>[number]['on']>().toEqualTypeOf<boolean | null | undefined>();
    expectTypeOf<Spec['any']>().toEqualTypeOf<Record<string, unknown> | undefined>();
    expectTypeOf<NonNullable<ObjectOf<typeof Echo>['status']>['ready']>().toEqualTypeOf<number | undefined>();
  });

  it('has no status subresource without a schema for it', () => {
    const plain = defineResource({
      group: 'demo.dev',
      version: 'v1',
      kind: 'Plain',
      scope: 'Cluster',
      spec: { type: 'object' },
    });
    const definition = plain.definition as unknown as { spec: { scope: string; versions: object[] } };
    expect(definition.spec.scope).toBe('Cluster');
    expect(definition.spec.versions[0]).not.toHaveProperty('subresources');
  });

  it('recognises what can be installed, and refuses a resource of the core group', () => {
    expect(isDefinedResource(Echo)).toBe(true);
    expect(isDefinedResource(resource({ group: 'demo.dev', version: 'v1', kind: 'Echo' }))).toBe(false);
    expect(() => defineResource({ group: '', version: 'v1', kind: 'A', spec: {} })).toThrow(TypeError);
  });

  it.each([
    [{ group: 'Demo.dev' }, 'a custom resource needs a group such as "demo.dev", not "Demo.dev"'],
    [{ group: 'apps' }, 'a custom resource needs a group such as "demo.dev", not "apps"'],
    [{ version: '1' }, 'a custom resource needs a version such as "v1", not "1"'],
    [{ version: undefined }, 'a custom resource needs a version such as "v1", not undefined'],
    [{ kind: 'site x' }, 'a custom resource needs a kind such as "CronTab", not "site x"'],
    [{ kind: '' }, 'a custom resource needs a kind such as "CronTab", not ""'],
    [{ plural: 'Sites' }, 'a custom resource needs a plural such as "crontabs", not "Sites"'],
    [{ kind: 'A'.repeat(64) }, `a custom resource needs a kind such as "CronTab", not "${'A'.repeat(64)}"`],
  ])('refuses names that no server takes: %j', (wrong, message) => {
    const spec = { group: 'demo.dev', version: 'v1', kind: 'Site', spec: {}, ...wrong } as ResourceDefinitionSpec<
      ObjectSchema,
      ObjectSchema
    >;
    expect(() => defineResource(spec)).toThrow(new TypeError(message));
  });
});
