// SwaggerDocuments makes one OpenAPI v2 document of all resources, as JSON or protobuf. It is made on demand, in
// slices, and kept until the resources change. openapi-documents.ts makes v3. kubectl reads v2 for files of kind List,
// and clients older than 1.27 read only v2. Source: kube-openapi handler.
import { createHash } from 'node:crypto';
import { type SlicedWork, stringifyInSlices } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { ApiRegistrations } from '../aggregation/api-registrations.ts';
import { type RemoteSwagger, withoutConflicts } from '../aggregation/remote-swagger.ts';
import { versionInfo } from '../discovery/version-info.ts';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';
import { contentKey } from './content-key.ts';
import { documentPieces, joinPieces, jsonMembers } from './document-pieces.ts';
import { KeptDocument } from './kept-document.ts';
import { type Contents, describeContents } from './openapi-contents.ts';
import type { OpenApiDocumentsOptions } from './openapi-documents.ts';
import type { OpenApiObject } from './openapi-operations.ts';
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
  readonly #registrations: ApiRegistrations | undefined;
  #generation = '';
  #hash = '';
  #document: KeptDocument<SwaggerForm>;

  constructor(catalog: ResourceCatalog, { morePages = new Map(), registrations }: OpenApiDocumentsOptions = {}) {
    this.#catalog = catalog;
    this.#pages = morePages;
    this.#registrations = registrations;
    this.#document = this.#newDocument();
  }

  async document(form: SwaggerForm): Promise<SwaggerDocument> {
    const others = this.#registrations?.swaggerKey ?? '';
    const generation = `${this.#catalog.generation} ${others}`;
    if (this.#generation !== generation) {
      this.#document = this.#newDocument();
      const definitions = this.#catalog.all().map(({ definition }) => definition);
      this.#hash = contentKey(definitions, others);
      this.#generation = generation;
    }
    const hash = createHash('sha512').update(`${this.#hash} ${form}`).digest('hex').toUpperCase();
    return { hash, bytes: await this.#document.bytes(form) };
  }

  #newDocument(): KeptDocument<SwaggerForm> {
    const others = this.#registrations?.swagger ?? [];
    return new KeptDocument((form) => makeDocument({ catalog: this.#catalog, morePages: this.#pages, others }, form));
  }
}

interface Sources {
  readonly catalog: ResourceCatalog;
  readonly morePages: ReadonlyMap<string, RootPage>;
  /** Parts of other API servers. */
  readonly others: readonly RemoteSwagger[];
}

async function makeDocument({ catalog, morePages, others }: Sources, form: SwaggerForm): Promise<Uint8Array> {
  const definitions = catalog.all().map(({ definition }) => definition);
  const schemas = new ComponentSchemas({ types: shownTypes(catalog), version: 'v2' });
  const groups = new Set(definitions.filter(({ isCustom }) => isCustom !== true).map(({ group }) => group));
  const pages = [...rootPages([...groups]).values(), ...morePages.values()];
  const contents = await runInTurns(describeContents({ definitions, pages, schemas }));
  const remote = await runInTurns(remoteParts(contents, others));
  return runInTurns(joinPieces(form === 'json' ? jsonPieces(contents, remote) : protobufPieces(contents, remote)));
}

type Entries = [string, OpenApiObject][];

/** Returns everything of other servers that the document does not have yet, under names that are free. */
function* remoteParts({ paths, schemas }: Contents, others: readonly RemoteSwagger[]): SlicedWork<Parts> {
  const added: Parts = { paths: [], definitions: [], parameters: [] };
  if (others.length === 0) return added;
  const wanted = new Set(others.flatMap(({ definitions }) => [...definitions.keys()]));
  const known = {
    paths: new Map<string, OpenApiObject>(paths),
    definitions: new Map<string, OpenApiObject>(),
    parameters: new Map<string, OpenApiObject>(),
  };
  for (const [name, schema] of schemas) {
    if (wanted.has(name)) known.definitions.set(name, (yield* swaggerSchema(schema)) as OpenApiObject);
    else known.definitions.set(name, schema);
  }
  for (const other of others) {
    const part = yield* withoutConflicts(other, known);
    for (const kind of ['paths', 'definitions', 'parameters'] as const) {
      for (const [name, value] of part[kind]) {
        known[kind].set(name, value);
        added[kind].push([name, value]);
      }
    }
  }
  return added;
}

interface Parts {
  readonly paths: Entries;
  readonly definitions: Entries;
  readonly parameters: Entries;
}

function* jsonPieces({ paths, customPaths, schemas }: Contents, remote: Parts): SlicedWork<Uint8Array[]> {
  const shared = new SharedParameters();
  const [otherPaths, otherDefinitions] = [new Map(remote.paths), new Map(remote.definitions)];
  return [
    Buffer.from(`{"swagger":"2.0","info":${JSON.stringify(info)},"paths":{`),
    ...(yield* jsonMembers([...paths, ...remote.paths], (item, path) =>
      stringifyInSlices(
        otherPaths.get(path) ?? swaggerPathItem(item as OpenApiObject, { isCustom: customPaths.has(path), shared }),
      ),
    )),
    Buffer.from('},"definitions":{'),
    ...(yield* jsonMembers([...schemas, ...remote.definitions], function* (schema, name) {
      return yield* stringifyInSlices(otherDefinitions.get(name) ?? (yield* swaggerSchema(schema as OpenApiObject)));
    })),
    Buffer.from('},"parameters":{'),
    ...(yield* jsonMembers([...shared.all(), ...remote.parameters], stringifyInSlices)),
    Buffer.from(
      `},"securityDefinitions":${JSON.stringify(securityDefinitions)},"security":${JSON.stringify(security)}}`,
    ),
  ];
}

function* protobufPieces({ paths, customPaths, schemas }: Contents, remote: Parts): SlicedWork<Uint8Array[]> {
  const shared = new SharedParameters();
  return [
    swaggerHead(info),
    ...(yield* documentPieces(paths, function* ([path, item]) {
      yield;
      return [swaggerPathPiece(path, swaggerPathItem(item, { isCustom: customPaths.has(path), shared }))];
    })),
    ...(yield* documentPieces(remote.paths, function* ([path, item]) {
      yield;
      return unlessMalformed(() => [swaggerPathPiece(path, item)]);
    })),
    ...(yield* documentPieces(schemas, function* ([name, schema]) {
      return yield* swaggerDefinitionPieces(name, yield* swaggerSchema(schema));
    })),
    ...(yield* documentPieces(remote.definitions, function* ([name, schema]) {
      return yield* swaggerDefinitionPieces(name, schema);
    })),
    ...[...shared.all(), ...remote.parameters].flatMap(([name, parameter]) =>
      unlessMalformed(() => [swaggerParameterPiece(name, parameter as OpenApiObject)]),
    ),
    swaggerTail({ securityDefinitions, security }),
  ];
}

/** Another server's mistake must not make the document unavailable. */
function unlessMalformed(make: () => Uint8Array[]): Uint8Array[] {
  try {
    return make();
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return [];
    throw error;
  }
}
