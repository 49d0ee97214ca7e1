// OpenApiDocuments: the OpenAPI v3 index and a document a group version, made when asked for and kept until the
// resources of that group version change. Source: kube-openapi handler3; kubectl explain and apply read them.
import { createHash } from 'node:crypto';
import { formatApiVersion } from '@kapstan/api';
import { versionInfo } from '../discovery/version-info.ts';
import type { ResourceCatalog } from '../registry/catalog.ts';
import type { ResourceDefinition } from '../registry/resource-definition.ts';
import { builtinDefinitionName } from '../schema/builtin-schemas.ts';
import { resourcePaths } from './openapi-paths.ts';
import { ComponentSchemas } from './openapi-schemas.ts';

interface GroupVersionEntry {
  readonly definitions: readonly ResourceDefinition[];
  /** Changes when what the document says changes. Upper-case hexadecimal. */
  readonly hash: string;
}

export interface OpenApiDocument {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

export class OpenApiDocuments {
  readonly #catalog: ResourceCatalog;
  readonly #documents = new Map<string, OpenApiDocument>();
  #generation = -1;
  #entries: ReadonlyMap<string, GroupVersionEntry> = new Map();

  constructor(catalog: ResourceCatalog) {
    this.#catalog = catalog;
  }

  /** The document of /openapi/v3. */
  index(): Readonly<Record<string, unknown>> {
    const paths = [...this.#current()].map(([path, { hash }]) => [
      path,
      { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` },
    ]);
    return { paths: Object.fromEntries(paths) };
  }

  /** The document of "apis/apps/v1" or "api/v1"; undefined for a group version that is not served. */
  document(path: string): OpenApiDocument | undefined {
    const entry = this.#current().get(path);
    if (entry === undefined) return undefined;
    const known = this.#documents.get(path);
    if (known?.hash === entry.hash) return known;
    const bytes = Buffer.from(JSON.stringify(buildDocument(entry.definitions)));
    const document = { hash: entry.hash, bytes };
    this.#documents.set(path, document);
    return document;
  }

  #current(): ReadonlyMap<string, GroupVersionEntry> {
    if (this.#generation === this.#catalog.generation) return this.#entries;
    const byPath = new Map<string, ResourceDefinition[]>();
    for (const { definition } of this.#catalog.all()) {
      const path = definition.group === '' ? `api/${definition.version}` : `apis/${formatApiVersion(definition)}`;
      byPath.set(path, [...(byPath.get(path) ?? []), definition]);
    }
    const sorted = [...byPath].sort(([a], [b]) => (a < b ? -1 : 1));
    this.#entries = new Map(sorted.map(([path, definitions]) => [path, { definitions, hash: hashOf(definitions) }]));
    this.#generation = this.#catalog.generation;
    for (const path of this.#documents.keys()) if (!this.#entries.has(path)) this.#documents.delete(path);
    return this.#entries;
  }
}

/** What the document is made from, not the document: it is large, and most of them are never asked for. */
function hashOf(definitions: readonly ResourceDefinition[]): string {
  const hash = createHash('sha512').update(versionInfo.gitVersion);
  for (const definition of definitions) {
    const { resource, kind, verbs, subresources, schema, isCustom } = definition;
    const parts = subresources.map(({ name, verbs: subVerbs }) => [name, subVerbs]);
    hash.update(JSON.stringify([resource, kind, verbs, parts, isCustom === true ? schema.raw : null]));
  }
  return hash.digest('hex').toUpperCase();
}

function buildDocument(definitions: readonly ResourceDefinition[]): Readonly<Record<string, unknown>> {
  const schemas = new ComponentSchemas();
  const paths: Record<string, unknown> = {};
  for (const definition of definitions) Object.assign(paths, describeResource(definition, schemas));
  addSharedSchemas(schemas);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: `${versionInfo.major}.${versionInfo.minor}` },
    paths,
    components: { schemas: schemas.all() },
  };
}

/** Adds what a resource's kinds refer to; gives its paths. */
export function describeResource(
  definition: ResourceDefinition,
  schemas: ComponentSchemas,
): Readonly<Record<string, unknown>> {
  // A parent that is there for its subresources alone has no kind that anyone could send.
  const name = definition.verbs.length === 0 ? '' : schemas.addResource(definition);
  addSubresourceKinds(definition, schemas);
  return resourcePaths(definition, name);
}

export function addSharedSchemas(schemas: ComponentSchemas): void {
  for (const shared of ['meta/v1.Status', 'meta/v1.DeleteOptions', 'meta/v1.WatchEvent', 'meta/v1.Patch']) {
    schemas.add(shared);
  }
}

function addSubresourceKinds(definition: ResourceDefinition, schemas: ComponentSchemas): void {
  for (const subresource of definition.subresources) {
    if (subresource.type !== 'object') continue;
    const name = builtinDefinitionName(formatApiVersion(subresource.kind), subresource.kind.kind);
    if (name !== undefined) schemas.add(name);
  }
}
