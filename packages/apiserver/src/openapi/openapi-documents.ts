// OpenApiDocuments makes the OpenAPI v3 index and one document per group version on demand, and keeps a document until
// the resources of its group version change. kubectl explain and apply read them. Source: kube-openapi handler3.
import { formatApiVersion, type GroupVersion, type SlicedWork, stringifyInSlices } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { ApiRegistrations } from '../aggregation/api-registrations.ts';
import { versionInfo } from '../discovery/version-info.ts';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { contentKey } from './content-key.ts';
import { convertedBytes } from './converted-document.ts';
import { documentPieces, joinPieces, jsonMembers } from './document-pieces.ts';
import { KeptDocument } from './kept-document.ts';
import { type Contents, describeContents } from './openapi-contents.ts';
import { openApiHead, openApiPathPiece, openApiSchemaPieces } from './openapi-protobuf.ts';
import { ComponentSchemas, shownTypes } from './openapi-schemas.ts';
import { type RootPage, rootPages } from './root-paths.ts';

/** The resources and pages of one document. */
interface Entry {
  readonly definitions: readonly ResourceDefinition[];
  /** The group version of the document; undefined for a page, and for custom resources. */
  readonly groupVersion?: GroupVersion;
  readonly pages: readonly RootPage[];
  /** Changes with the content of the document. Upper-case hexadecimal. */
  readonly hash: string;
}

export type OpenApiForm = 'json' | 'protobuf';

export interface OpenApiDocument {
  /** The same for every form of the document. */
  readonly hash: string;
  readonly bytes: Uint8Array;
}

interface KnownDocument {
  readonly hash: string;
  readonly document: KeptDocument<OpenApiForm>;
}

export interface OpenApiDocumentsOptions {
  /** Pages in addition to those of discovery, by their path in the index. Default none. */
  readonly morePages?: ReadonlyMap<string, RootPage>;
  /** Other API servers, whose documents the index lists too. Default none. */
  readonly registrations?: ApiRegistrations | undefined;
}

export class OpenApiDocuments {
  readonly #catalog: ResourceCatalog;
  readonly #registrations: ApiRegistrations | undefined;
  readonly #morePages: ReadonlyMap<string, RootPage>;
  /** Documents by path. */
  readonly #documents = new Map<string, KnownDocument>();
  #generation = -1;
  #entries: ReadonlyMap<string, Entry> = new Map();

  constructor(catalog: ResourceCatalog, { morePages = new Map(), registrations }: OpenApiDocumentsOptions = {}) {
    this.#catalog = catalog;
    this.#morePages = morePages;
    this.#registrations = registrations;
  }

  /** Returns the document of /openapi/v3. */
  index(): Readonly<Record<string, unknown>> {
    const paths = [...this.#current()].map(([path, { hash }]): [string, unknown] => [
      path,
      { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` },
    ]);
    const others = this.#registrations?.openApiPaths ?? new Map();
    const all = others.size === 0 ? paths : [...new Map([...paths, ...others])].sort(([a], [b]) => (a < b ? -1 : 1));
    return { paths: Object.fromEntries(all) };
  }

  /** Returns the document of "apis/apps/v1" or "api/v1"; undefined for a group version that is not served. */
  async document(path: string, form: OpenApiForm): Promise<OpenApiDocument | undefined> {
    const converted = this.#registrations?.convertedAt(path);
    if (converted !== undefined) return { hash: converted.hash, bytes: await convertedBytes(converted, form) };
    const entry = this.#current().get(path);
    if (entry === undefined) return undefined;
    const { hash } = entry;
    let known = this.#documents.get(path);
    if (known?.hash !== hash) {
      known = { hash, document: new KeptDocument((wanted) => makeDocument(this.#catalog, entry, wanted)) };
      this.#documents.set(path, known);
    }
    return { hash, bytes: await known.document.bytes(form) };
  }

  #current(): ReadonlyMap<string, Entry> {
    if (this.#generation === this.#catalog.generation) return this.#entries;
    const byPath = new Map<string, ResourceDefinition[]>();
    const groups = new Set<string>();
    for (const { definition } of this.#catalog.all()) {
      const path = definition.group === '' ? `api/${definition.version}` : `apis/${formatApiVersion(definition)}`;
      if (definition.isCustom !== true) groups.add(definition.group);
      const present = byPath.get(path);
      if (present === undefined) byPath.set(path, [definition]);
      else present.push(definition);
    }
    const entries: [string, Entry][] = [...byPath].map(([path, definitions]) => [path, entryOf(definitions)]);
    for (const [path, page] of [...rootPages([...groups]), ...this.#morePages]) {
      entries.push([path, { definitions: [], pages: [page], hash: contentKey([], path) }]);
    }
    this.#entries = new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
    this.#generation = this.#catalog.generation;
    for (const path of this.#documents.keys()) if (!this.#entries.has(path)) this.#documents.delete(path);
    return this.#entries;
  }
}

function entryOf(definitions: readonly ResourceDefinition[]): Entry {
  const [first] = definitions;
  const told = { definitions, pages: [], hash: contentKey(definitions) };
  // Documents of custom resources list every group version of a kind such as DeleteOptions.
  if (first === undefined || isOfCustom(definitions)) return told;
  return { ...told, groupVersion: { group: first.group, version: first.version } };
}

const securitySchemes = {
  BearerToken: { type: 'apiKey', description: 'Bearer Token authentication', name: 'authorization', in: 'header' },
};

function isOfCustom(definitions: readonly ResourceDefinition[]): boolean {
  return definitions.length > 0 && definitions.every(({ isCustom }) => isCustom === true);
}

/** Returns title and version. Documents of custom resources have their own title and no security schemes. */
function headOf({ definitions }: Entry): { readonly head: Record<string, unknown>; readonly isCustom: boolean } {
  const isCustom = isOfCustom(definitions);
  const builtin = { title: 'Kubernetes', version: `${versionInfo.major}.${versionInfo.minor}` };
  const info = isCustom ? { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' } : builtin;
  return { head: { openapi: '3.0.0', info }, isCustom };
}

async function makeDocument(catalog: ResourceCatalog, entry: Entry, form: OpenApiForm): Promise<Uint8Array> {
  const { definitions, groupVersion, pages } = entry;
  const schemas = new ComponentSchemas({
    ...{ types: shownTypes(catalog), version: 'v3' },
    groupVersion,
  });
  const contents = await runInTurns(describeContents({ definitions, pages, schemas }));
  const pieces = form === 'json' ? jsonPieces(entry, contents) : protobufPieces(entry, contents);
  return runInTurns(joinPieces(pieces));
}

function* jsonPieces(entry: Entry, { paths, schemas }: Contents): SlicedWork<Uint8Array[]> {
  const { head, isCustom } = headOf(entry);
  const security = isCustom
    ? ''
    : `${schemas.length === 0 ? '' : ','}"securitySchemes":${JSON.stringify(securitySchemes)}`;
  const [before, after] = schemas.length === 0 ? ['', ''] : ['"schemas":{', '}'];
  return [
    Buffer.from(`${JSON.stringify(head).slice(0, -1)},"paths":{`),
    ...(yield* jsonMembers(paths, stringifyInSlices)),
    Buffer.from(`},"components":{${before}`),
    ...(yield* jsonMembers(schemas, stringifyInSlices)),
    Buffer.from(`${after}${security}}}`),
  ];
}

function* protobufPieces(entry: Entry, { paths, schemas }: Contents): SlicedWork<Uint8Array[]> {
  const { head, isCustom } = headOf(entry);
  return [
    openApiHead({ ...head, ...(isCustom ? {} : { components: { securitySchemes } }) }, schemas.length > 0),
    ...(yield* documentPieces(paths, function* ([path, item]) {
      yield;
      return [openApiPathPiece(path, item)];
    })),
    ...(yield* documentPieces(schemas, ([name, schema]) => openApiSchemaPieces(name, schema))),
  ];
}
