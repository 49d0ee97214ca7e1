// SwaggerDocuments makes one OpenAPI v2 document of all resources, as JSON or protobuf. It is made on demand, in
// slices, and kept until the resources change. Beside openapi-documents.ts for v3. kubectl reads v2 for files of kind
// List, and clients before 1.27 read nothing else. Source: kube-openapi handler.
import { createHash } from 'node:crypto';
import { stringifyJson } from '@kapstan/api';
import { TurnSlice } from '@kapstan/api/internal';
import { versionInfo } from '../discovery/version-info.ts';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';
import { inSlices } from './document-slices.ts';
import { addSharedSchemas, describeResource } from './openapi-documents.ts';
import { ComponentSchemas, shownTypes } from './openapi-schemas.ts';
import { swaggerDefinitionPiece, swaggerHead, swaggerPathPiece } from './swagger-protobuf.ts';
import { swaggerPathItem, swaggerSchema } from './swagger-schema.ts';

export type SwaggerForm = 'json' | 'protobuf';

export interface SwaggerDocument {
  readonly bytes: Uint8Array;
  /** In upper-case hexadecimal. */
  readonly hash: string;
}

interface Content {
  readonly paths: readonly (readonly [string, Json])[];
  readonly definitions: readonly (readonly [string, Json])[];
}

type Json = Readonly<Record<string, unknown>>;

const info = { title: 'Kubernetes', version: `${versionInfo.major}.${versionInfo.minor}` };

export class SwaggerDocuments {
  readonly #catalog: ResourceCatalog;
  readonly #documents = new Map<SwaggerForm, Promise<SwaggerDocument>>();
  #generation = -1;

  constructor(catalog: ResourceCatalog) {
    this.#catalog = catalog;
  }

  document(form: SwaggerForm): Promise<SwaggerDocument> {
    if (this.#generation !== this.#catalog.generation) this.#documents.clear();
    this.#generation = this.#catalog.generation;
    const known = this.#documents.get(form);
    if (known !== undefined) return known;
    const made = makeDocument(this.#catalog, form);
    this.#documents.set(form, made);
    return made;
  }
}

async function makeDocument(catalog: ResourceCatalog, form: SwaggerForm): Promise<SwaggerDocument> {
  const content = await describeAll(catalog);
  const bytes = Buffer.concat(await (form === 'json' ? jsonPieces(content) : protobufPieces(content)));
  return { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
}

async function describeAll(catalog: ResourceCatalog): Promise<Content> {
  const schemas = new ComponentSchemas(shownTypes(catalog));
  const paths: [string, Json][] = [];
  const slice = new TurnSlice({ itemsPerLook: 1 });
  for (const { definition } of catalog.all()) {
    for (const [path, item] of Object.entries(describeResource(definition, schemas))) paths.push([path, item as Json]);
    if (slice.endsHere()) await slice.nextTurn();
  }
  addSharedSchemas(schemas);
  paths.sort(([a], [b]) => (a < b ? -1 : 1));
  return { paths, definitions: Object.entries(schemas.all()) as [string, Json][] };
}

async function jsonPieces({ paths, definitions }: Content): Promise<Uint8Array[]> {
  const member = ([name, value]: readonly [string, Json], index: number): Uint8Array =>
    Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(name)}:${stringifyJson(value)}`);
  return [
    Buffer.from(`{"swagger":"2.0","info":${stringifyJson(info)},"paths":{`),
    ...(await inSlices(paths, ([path, item], index) => member([path, swaggerPathItem(item)], index))),
    Buffer.from('},"definitions":{'),
    ...(await inSlices(definitions, ([name, schema], index) => member([name, swaggerSchema(schema)], index))),
    Buffer.from('}}'),
  ];
}

async function protobufPieces({ paths, definitions }: Content): Promise<Uint8Array[]> {
  return [
    swaggerHead(info),
    ...(await inSlices(paths, ([path, item]) => swaggerPathPiece(path, swaggerPathItem(item)))),
    ...(await inSlices(definitions, ([name, schema]) => swaggerDefinitionPiece(name, swaggerSchema(schema)))),
  ];
}
