// SwaggerDocuments makes one OpenAPI v2 document of all resources, as JSON or protobuf. It is made on demand, in
// slices, and kept until the resources change. Beside openapi-documents.ts for v3. kubectl reads v2 for files of kind
// List, and clients before 1.27 read nothing else. Source: kube-openapi handler.
import { createHash } from 'node:crypto';
import { type SlicedWork, stringifyInSlices } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import { versionInfo } from '../discovery/version-info.ts';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';
import { contentKey } from './content-key.ts';
import { joinPieces, jsonMembers, piecesOf } from './document-pieces.ts';
import { KeptDocument } from './kept-document.ts';
import { type Contents, describeContents } from './openapi-contents.ts';
import { ComponentSchemas, shownTypes } from './openapi-schemas.ts';
import { type RootPage, rootPages } from './root-paths.ts';
import { SharedParameters } from './shared-parameters.ts';
import {
  swaggerDefinitionPieces,
  swaggerHead,
  swaggerParameterPiece,
  swaggerPathPiece,
  swaggerTail,
} from './swagger-protobuf.ts';
import { swaggerPathItem, swaggerSchema } from './swagger-schema.ts';

export type SwaggerForm = 'json' | 'protobuf';

export interface SwaggerDocument {
  readonly bytes: Uint8Array;
  /** Upper-case hexadecimal. */
  readonly hash: string;
}

const info = { title: 'Kubernetes', version: `${versionInfo.major}.${versionInfo.minor}` };
const securityDefinitions = {
  BearerToken: { description: 'Bearer Token authentication', type: 'apiKey', name: 'authorization', in: 'header' },
};
const security = [{ BearerToken: [] }];

export class SwaggerDocuments {
  readonly #catalog: ResourceCatalog;
  readonly #pages: ReadonlyMap<string, RootPage>;
  #generation = -1;
  #hash = '';
  #document: KeptDocument<SwaggerForm>;

  /** `morePages`: beside those of discovery. */
  constructor(catalog: ResourceCatalog, morePages: ReadonlyMap<string, RootPage> = new Map()) {
    this.#catalog = catalog;
    this.#pages = morePages;
    this.#document = this.#newDocument();
  }

  async document(form: SwaggerForm): Promise<SwaggerDocument> {
    if (this.#generation !== this.#catalog.generation) {
      this.#document = this.#newDocument();
      this.#hash = contentKey(this.#catalog.all().map(({ definition }) => definition));
      this.#generation = this.#catalog.generation;
    }
    const hash = createHash('sha512').update(`${this.#hash} ${form}`).digest('hex').toUpperCase();
    return { hash, bytes: await this.#document.bytes(form) };
  }

  #newDocument(): KeptDocument<SwaggerForm> {
    return new KeptDocument((form) => makeDocument(this.#catalog, this.#pages, form));
  }
}

async function makeDocument(
  catalog: ResourceCatalog,
  morePages: ReadonlyMap<string, RootPage>,
  form: SwaggerForm,
): Promise<Uint8Array> {
  const definitions = catalog.all().map(({ definition }) => definition);
  const schemas = new ComponentSchemas({ types: shownTypes(catalog), version: 'v2' });
  const groups = new Set(definitions.filter(({ isCustom }) => isCustom !== true).map(({ group }) => group));
  const pages = [...rootPages([...groups]).values(), ...morePages.values()];
  const contents = await runInTurns(describeContents({ definitions, pages, schemas }));
  return runInTurns(joinPieces(form === 'json' ? jsonPieces(contents) : protobufPieces(contents)));
}

function* jsonPieces({ paths, customPaths, schemas }: Contents): SlicedWork<Uint8Array[]> {
  const shared = new SharedParameters();
  return [
    Buffer.from(`{"swagger":"2.0","info":${JSON.stringify(info)},"paths":{`),
    ...(yield* jsonMembers(paths, (item, path) =>
      stringifyInSlices(swaggerPathItem(item, { isCustom: customPaths.has(path), shared })),
    )),
    Buffer.from('},"definitions":{'),
    ...(yield* jsonMembers(schemas, function* (schema) {
      return yield* stringifyInSlices(yield* swaggerSchema(schema));
    })),
    Buffer.from('},"parameters":{'),
    ...(yield* jsonMembers(shared.all(), stringifyInSlices)),
    Buffer.from(
      `},"securityDefinitions":${JSON.stringify(securityDefinitions)},"security":${JSON.stringify(security)}}`,
    ),
  ];
}

function* protobufPieces({ paths, customPaths, schemas }: Contents): SlicedWork<Uint8Array[]> {
  const shared = new SharedParameters();
  return [
    swaggerHead(info),
    ...(yield* piecesOf(paths, function* ([path, item]) {
      yield;
      return [swaggerPathPiece(path, swaggerPathItem(item, { isCustom: customPaths.has(path), shared }))];
    })),
    ...(yield* piecesOf(schemas, function* ([name, schema]) {
      return yield* swaggerDefinitionPieces(name, yield* swaggerSchema(schema));
    })),
    ...shared.all().map(([name, parameter]) => swaggerParameterPiece(name, parameter)),
    swaggerTail({ securityDefinitions, security }),
  ];
}
