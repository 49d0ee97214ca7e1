import { deepCopy, type UnstructuredObject } from '@kapstan/api';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { describe, expect, it } from 'vitest';
import { DefinitionFixture, widgets } from '../testing/definition-fixture.ts';
import { fromStoredDefinition, toStoredDefinition } from './stored-definition.ts';

const column = { name: 'Size', type: 'integer', jsonPath: '.spec.size' };
const asObject = (definition: unknown): UnstructuredObject => deepCopy(definition) as UnstructuredObject;

describe('the stored form of a definition', () => {
  it('is that of v1beta1: what all versions share stands above them', () => {
    const stored = toStoredDefinition(
      asObject(
        widgets({
          versions: [
            { name: 'v1', additionalPrinterColumns: [column] },
            { name: 'v2', additionalPrinterColumns: [column], deprecated: true },
          ],
          spec: { conversion: { strategy: 'None' } },
        }),
      ),
    );
    expect(stored.apiVersion).toBe('apiextensions.k8s.io/v1beta1');
    expect(stored.spec).toEqual({
      group: 'example.com',
      version: 'v1',
      names: { plural: 'widgets', kind: 'Widget' },
      scope: 'Namespaced',
      validation: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      versions: [
        { name: 'v1', served: true, storage: true },
        { name: 'v2', served: true, storage: false, deprecated: true },
      ],
      additionalPrinterColumns: [{ name: 'Size', type: 'integer', JSONPath: '.spec.size' }],
      conversion: { strategy: 'None' },
      preserveUnknownFields: false,
    });
  });

  it('keeps with each version what only it has', () => {
    const stored = toStoredDefinition(
      asObject(widgets({ versions: [{ name: 'v1', additionalPrinterColumns: [column] }, { name: 'v2' }] })),
    );
    const { versions, additionalPrinterColumns } = stored.spec as {
      versions: unknown[];
      additionalPrinterColumns: unknown;
    };
    expect(additionalPrinterColumns).toBeUndefined();
    expect(versions[0]).toMatchObject({ additionalPrinterColumns: [{ JSONPath: '.spec.size' }] });
  });

  it.each([
    widgets(),
    widgets({
      versions: [
        { name: 'v1', subresources: { status: {} } },
        { name: 'v2', additionalPrinterColumns: [column] },
      ],
    }),
    widgets({ version: { selectableFields: [{ jsonPath: '.spec.a' }], additionalPrinterColumns: [column] } }),
    widgets({
      spec: {
        conversion: {
          strategy: 'Webhook',
          webhook: { clientConfig: { url: 'https://x' }, conversionReviewVersions: ['v1'] },
        },
      },
    }),
  ])('can be read back (%#)', (definition) => {
    expect(fromStoredDefinition(toStoredDefinition(asObject(definition)))).toEqual(definition);
  });

  it('may be of an age when there was one version only', () => {
    const old = {
      apiVersion: 'apiextensions.k8s.io/v1beta1',
      kind: 'CustomResourceDefinition',
      spec: { group: 'example.com', version: 'v1', scope: 'Cluster', names: {}, subresources: { status: {} } },
    };
    expect(fromStoredDefinition(asObject(old)).spec).toMatchObject({
      versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} } }],
    });
  });

  it('is what lies in the store, under the key of kube-apiserver', async () => {
    const fixture = await DefinitionFixture.open(openLmdbEngine);
    await fixture.establish(widgets());
    const { kv } = await fixture.stores.engine.get(
      '/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com',
    );
    const text = Buffer.from(kv?.value ?? []).toString();
    expect(JSON.parse(text)).toMatchObject({
      apiVersion: 'apiextensions.k8s.io/v1beta1',
      spec: { version: 'v1', validation: {} },
      status: { acceptedNames: { plural: 'widgets' } },
    });
    await fixture.close();
  });
});
