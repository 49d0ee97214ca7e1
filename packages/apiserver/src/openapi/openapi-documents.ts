// OpenApiDocuments makes the OpenAPI v3 index and one document per group version on demand, and keeps a document until
// the resources of its group version change. kubectl explain and apply read them. Source: kube-openapi handler3.
import { createHash } from 'node:crypto';
import { stringifyJson } from '@kapstan/api';
import { formatApiVersion } from '@kapstan/api/internal';
import { versionInfo } from '../discovery/version-info.ts';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import type { ApiTypes } from '../schema/schema-node.ts';
import { inSlices } from './document-slices.ts';
import { resourcePaths } from './openapi-paths.ts';
import { openApiHead, openApiPathPiece, openApiSchemaPiece } from './openapi-protobuf.ts';
import { ComponentSchemas, shownTypes } from './openapi-schemas.ts';

interface GroupVersionEntry {
  readonly definitions: readonly ResourceDefinition[];
  /** Changes with the content of the document. Upper-case hexadecimal. */
  readonly hash: string;
}

export type OpenApiForm = 'json' | 'protobuf';

export interface OpenApiDocument {
  /** The same for every form of the document. */
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** The forms of a document that were requested, made or being made. */
interface KnownDocument {
  readonly hash: string;
  readonly forms: Map<OpenApiForm, Promise<Uint8Array>>;
}

type Json = Readonly<Record<string, unknown>>;

export class OpenApiDocuments {
  readonly #catalog: ResourceCatalog;
  /** Documents by path. */
  readonly #documents = new Map<string, KnownDocument>();
  #generation = -1;
  #entries: ReadonlyMap<string, GroupVersionEntry> = new Map();

  constructor(catalog: ResourceCatalog) {
    this.#catalog = catalog;
  }

  /** Returns the document of /openapi/v3. */
  index(): Readonly<Record<string, unknown>> {
    const paths = [...this.#current()].map(([path, { hash }]) => [
      path,
      { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` },
    ]);
    return { paths: Object.fromEntries(paths) };
  }

  /** Returns the document of "apis/apps/v1" or "api/v1"; undefined for a group version that is not served. */
  async document(path: string, form: OpenApiForm): Promise<OpenApiDocument | undefined> {
    const entry = this.#current().get(path);
    if (entry === undefined) return undefined;
    const { hash, definitions } = entry;
    let known = this.#documents.get(path);
    if (known?.hash !== hash) {
      known = { hash, forms: new Map() };
      this.#documents.set(path, known);
    }
    const bytes = known.forms.get(form) ?? encodeDocument(buildDocument(definitions, shownTypes(this.#catalog)), form);
    known.forms.set(form, bytes);
    return { hash, bytes: await bytes };
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

/** Hashes what the document is made from: the document itself is large, and most are never requested. */
function hashOf(definitions: readonly ResourceDefinition[]): string {
  const hash = createHash('sha512').update(versionInfo.gitVersion);
  for (const definition of definitions) {
    const { resource, kind, verbs, subresources, schema, isCustom } = definition;
    const parts = subresources.map(({ name, verbs: subVerbs }) => [name, subVerbs]);
    hash.update(JSON.stringify([resource, kind, verbs, parts, isCustom === true ? schema.raw : null]));
  }
  return hash.digest('hex').toUpperCase();
}

interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Json;
  readonly components: { readonly schemas: Json };
}

function buildDocument(definitions: readonly ResourceDefinition[], types: ApiTypes): Document {
  const schemas = new ComponentSchemas(types);
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

async function encodeDocument(document: Document, form: OpenApiForm): Promise<Uint8Array> {
  if (form === 'json') return Buffer.from(stringifyJson(document));
  const { openapi, info, paths, components } = document;
  return Buffer.concat([
    openApiHead({ openapi, info }),
    ...(await inSlices(Object.entries(paths), ([path, item]) => openApiPathPiece(path, item as Json))),
    ...(await inSlices(Object.entries(components.schemas), ([name, one]) => openApiSchemaPiece(name, one as Json))),
  ]);
}

/** Adds the schemas of a resource's kinds and returns its paths. */
export function describeResource(
  definition: ResourceDefinition,
  schemas: ComponentSchemas,
): Readonly<Record<string, unknown>> {
  // A parent that exists only for its subresources has no kind that anyone could send.
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
    const name = schemas.types.nameOf(formatApiVersion(subresource.kind), subresource.kind.kind);
    if (name !== undefined) schemas.add(name);
  }
}
