import { describe, expect, it } from 'vitest';
import { ResourceCatalog } from '../registry/definition/catalog.ts';
import type { ResourceStore } from '../registry/definition/resource-store.ts';
import { testDefinition } from '../testing/store-fixture.ts';
import { OpenApiDocuments } from './openapi-documents.ts';
import { issuerPages } from './root-paths.ts';

const schema = { raw: { type: 'object', properties: { spec: { type: 'object' } } } };
const books = (revision: string) =>
  testDefinition({
    ...{ group: 'example.com', resource: 'books', kind: 'Book', listKind: 'BookList', isCustom: true, schema },
    published: { revision },
  });

function catalogOf(revision: string): ResourceCatalog {
  const catalog = new ResourceCatalog();
  catalog.install({ definition: books(revision), store: {} as ResourceStore });
  return catalog;
}

const path = 'apis/example.com/v1';
const hashOf = async (documents: OpenApiDocuments): Promise<string> =>
  (await documents.document(path, 'json'))?.hash ?? '';

describe('the documents of OpenAPI v3', () => {
  it('have a hash that changes with the revision of a custom resource', async () => {
    const catalog = catalogOf('1');
    const documents = new OpenApiDocuments(catalog);
    const first = await hashOf(documents);
    expect(first).toMatch(/^[0-9A-F]{128}$/);
    expect(await hashOf(new OpenApiDocuments(catalogOf('1')))).toBe(first);
    catalog.install({ definition: books('2'), store: {} as ResourceStore });
    expect(await hashOf(documents)).not.toBe(first);
    expect(JSON.stringify(documents.index())).not.toContain(first);
  });

  it('are made once, and again when a resource changes', async () => {
    const catalog = catalogOf('1');
    const documents = new OpenApiDocuments(catalog);
    const first = await documents.document(path, 'json');
    expect((await documents.document(path, 'json'))?.bytes).toBe(first?.bytes);
    catalog.install({ definition: books('2'), store: {} as ResourceStore });
    expect((await documents.document(path, 'json'))?.bytes).not.toBe(first?.bytes);
    catalog.remove('example.com', 'v1', 'books');
    expect(await documents.document(path, 'json')).toBeUndefined();
  });

  it('of a page that answers text have no schemas, in protobuf neither', async () => {
    const documents = new OpenApiDocuments(catalogOf('1'), { morePages: issuerPages });
    const page = 'openid/v1/jwks';
    const json = JSON.parse(String(Buffer.from((await documents.document(page, 'json'))?.bytes ?? [])));
    expect(Object.keys(json.components)).toEqual(['securitySchemes']);
    const bytes = Buffer.from((await documents.document(page, 'protobuf'))?.bytes ?? []).toString('latin1');
    // Documents with schemas begin with field 5 that contains field 1, both empty.
    expect(bytes).not.toContain('\x2a\x02\x0a\x00');
    const kinds = Buffer.from((await documents.document(path, 'protobuf'))?.bytes ?? []).toString('latin1');
    expect(kinds).toContain('\x2a\x02\x0a\x00');
  });
});
