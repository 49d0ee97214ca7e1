// Shows a document that was converted for another API server in the form that a client requests. Used by
// openapi-documents.ts.
import { isJsonObject, type SlicedWork } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { ConvertedDocument } from '../aggregation/converted-openapi.ts';
import { decodeText, readJsonText } from '../schema/json-reader.ts';
import { joinPieces } from './document-pieces.ts';
import type { Json } from './gnostic-message.ts';
import { openApiHead, openApiPathPiece, openApiSchemaPieces } from './openapi-protobuf.ts';

/** Returns the document; large ones in protobuf are made in slices. */
export async function convertedBytes({ json }: ConvertedDocument, form: 'json' | 'protobuf'): Promise<Uint8Array> {
  if (form === 'json') return json;
  const { value } = await runInTurns(readJsonText(decodeText(json)));
  return runInTurns(joinPieces(protobufPieces(value as Json)));
}

function* protobufPieces({ paths, components, ...head }: Json): SlicedWork<Uint8Array[]> {
  const { schemas, ...others } = membersOf(components);
  const pieces = [openApiHead({ ...head, components: others }, schemas !== undefined)];
  for (const [path, item] of Object.entries(membersOf(paths))) {
    if (!path.startsWith('/')) continue;
    pieces.push(openApiPathPiece(path, item as Json));
    yield;
  }
  for (const [name, schema] of Object.entries(membersOf(schemas))) {
    pieces.push(...(yield* openApiSchemaPieces(name, schema as Json)));
  }
  return pieces;
}

function membersOf(value: unknown): Json {
  return isJsonObject(value) ? value : {};
}
