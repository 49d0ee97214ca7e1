// Encodes objects for several readers and watchers at once: list items, metadata only, watch frames. Each encoding is
// made once per Stored, which keeps it. Used by list-response.ts and watch-response.ts.

import { stringifyJson, type UnstructuredObject } from '@kapstan/api';
import { type ChangeType, encodeJsonInSlices, fitsOneSlice, formatApiVersion } from '@kapstan/api/internal';
import { type Encoding, jsonEncoding, jsonMember, largeObjectBytes, runInTurns, type Stored } from '@kapstan/storage';
import { encodeMessage } from '../../codec/protobuf-encoder.ts';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import { metaTypes } from '../../schema/meta-types.ts';
import type { Message } from '../../schema/node/message.ts';

export type StoredObject = Stored<UnstructuredObject>;
type ObjectEncoding = Encoding<UnstructuredObject>;
export type MetadataVersion = 'v1' | 'v1beta1';

/** What decides which metadata is shown without the rest of its object. */
type MetadataOwner = Pick<ResourceDefinition, 'versionAnnotations'>;

const wireEncoding = jsonEncoding as ObjectEncoding;
const encoder = new TextEncoder();
const newline = 10;

/**
 * Makes the JSON of a large object in several turns, so that {@link objectJson} finds it made. Returns undefined when there is nothing to wait
 * for, as for most objects: they are small, or their JSON is the stored one.
 */
export function whenJsonIsMade(stored: StoredObject): Promise<void> | undefined {
  const isSmall = stored.storedBytes > 0 && stored.storedBytes < largeObjectBytes;
  return isSmall || stored.knownJson !== undefined ? undefined : makeJson(stored);
}

/** Restores a released object for the encoding and releases it again. */
async function makeJson(stored: StoredObject): Promise<void> {
  const wasReleased = await stored.restore();
  if (!fitsOneSlice(stored.object)) {
    stored.rememberEncoded(wireEncoding.name, await runInTurns(encodeJsonInSlices(stored.object)));
  }
  if (wasReleased) stored.release();
}

/** Returns the object as JSON without a final newline. */
export function objectJson(stored: StoredObject): Uint8Array {
  const bytes = stored.encoded(wireEncoding);
  return bytes.at(-1) === newline ? bytes.subarray(0, -1) : bytes;
}

/**
 * Encodes an item of a list of a built-in kind, which has neither kind nor apiVersion. Returns the bytes after its
 * opening brace, which may be part of the object's own bytes.
 */
export function listItemEncoding(definition: ResourceDefinition): ObjectEncoding {
  const apiVersion = formatApiVersion(definition);
  const kind = `"kind":${JSON.stringify(definition.kind)}`;
  const version = `"apiVersion":${JSON.stringify(apiVersion)}`;
  const heads = [`{${kind},${version},`, `{${version},${kind},`].map((text) => Buffer.from(text));
  return {
    name: 'json-list-item',
    encode: (stored) => {
      const json = objectJson(stored);
      const head = heads.find((h) => h.length < json.length && h.compare(json, 0, h.length) === 0);
      if (head !== undefined) return json.subarray(head.length);
      const { kind: _kind, apiVersion: _apiVersion, ...rest } = stored.object;
      return encoder.encode(stringifyJson(rest)).subarray(1);
    },
  };
}

const metadataEncodings: Readonly<Record<MetadataVersion, ObjectEncoding>> = {
  v1: metadataEncoding('v1', {}),
  v1beta1: metadataEncoding('v1beta1', {}),
};

/** Returns PartialObjectMetadata as JSON. */
export function metadataJson(stored: StoredObject, version: MetadataVersion, owner: MetadataOwner): Uint8Array {
  const isWhole = owner.versionAnnotations === undefined;
  return stored.encoded(isWhole ? metadataEncodings[version] : metadataEncoding(version, owner));
}

export function partialMetadata(
  object: { readonly metadata?: unknown },
  version: MetadataVersion,
  owner: MetadataOwner,
): UnstructuredObject {
  const metadata = withoutVersion((object.metadata ?? {}) as ObjectMeta, owner);
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata };
}

type ObjectMeta = NonNullable<UnstructuredObject['metadata']>;

/** Distinguishes the names of encodings of one object that show different annotations. */
function suffixOf({ versionAnnotations }: MetadataOwner): string {
  return versionAnnotations === undefined ? '' : `-without-${[...versionAnnotations].join()}`;
}

/** Kubernetes takes the metadata before it converts the object to the version, which is what adds these annotations. */
function withoutVersion(metadata: ObjectMeta, { versionAnnotations }: MetadataOwner): ObjectMeta {
  const { annotations } = metadata;
  if (versionAnnotations === undefined || annotations === undefined) return metadata;
  const left = Object.entries(annotations).filter(([name]) => !versionAnnotations.has(name));
  const shown: ObjectMeta = { ...metadata, annotations: Object.fromEntries(left) };
  if (left.length === 0) delete shown.annotations;
  return shown;
}

/**
 * Returns the JSON of a PartialObjectMetadata up to the metadata; the caller appends the metadata and a closing brace.
 */
export function metadataHead(version: MetadataVersion): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":`;
}

/**
 * Cuts the metadata out of the object's own bytes, without the parsing and encoding that are most of the work of a
 * metadata list. Returns undefined when the bytes are not at hand, or show too much.
 */
export function metadataBytes({ knownJson }: StoredObject, owner: MetadataOwner): Uint8Array | undefined {
  if (owner.versionAnnotations !== undefined) return undefined;
  const metadata = knownJson && jsonMember(knownJson, 'metadata');
  return metadata?.[0] === braceOpen ? metadata : undefined;
}

function metadataEncoding(version: MetadataVersion, owner: MetadataOwner): ObjectEncoding {
  const head = Buffer.from(metadataHead(version));
  return {
    name: `metadata-${version}${suffixOf(owner)}`,
    encode: (stored) => {
      const metadata = metadataBytes(stored, owner);
      if (metadata !== undefined) return Buffer.concat([head, metadata, braceClose]);
      return encoder.encode(stringifyJson(partialMetadata(stored.object, version, owner)));
    },
  };
}

const braceOpen = 0x7b;
const braceClose = Buffer.from('}');

const objectFrames: Readonly<Record<ChangeType, ObjectEncoding>> = {
  ADDED: objectFrameEncoding('ADDED'),
  MODIFIED: objectFrameEncoding('MODIFIED'),
  DELETED: objectFrameEncoding('DELETED'),
};
const metadataFrames: Readonly<Record<MetadataVersion, Readonly<Record<ChangeType, ObjectEncoding>>>> = {
  v1: metadataFrameEncodings('v1', {}),
  v1beta1: metadataFrameEncodings('v1beta1', {}),
};

/** Returns the event as a line of a JSON watch, shared by all its watchers. */
export function objectFrame(type: ChangeType, stored: StoredObject): Uint8Array {
  return stored.encoded(objectFrames[type]);
}

/** Returns the same line with metadata only. */
export function metadataFrame(
  type: ChangeType,
  stored: StoredObject,
  { version, owner }: { readonly version: MetadataVersion; readonly owner: MetadataOwner },
): Uint8Array {
  const isWhole = owner.versionAnnotations === undefined;
  return stored.encoded((isWhole ? metadataFrames[version] : metadataFrameEncodings(version, owner))[type]);
}

/** Returns the line of a watch for an object in JSON. */
export function frameOf(type: string, json: Uint8Array): Uint8Array {
  const head = Buffer.from(`{"type":"${type}","object":`);
  return Buffer.concat([head, json, frameTail]);
}

const frameTail = Buffer.from('}\n');

function objectFrameEncoding(type: ChangeType): ObjectEncoding {
  return { name: `watch-${type}`, encode: (stored) => frameOf(type, objectJson(stored)) };
}

function metadataFrameEncodings(
  version: MetadataVersion,
  owner: MetadataOwner,
): Readonly<Record<ChangeType, ObjectEncoding>> {
  const encoding = (type: ChangeType): ObjectEncoding => ({
    name: `watch-metadata-${version}-${type}${suffixOf(owner)}`,
    encode: (stored) => frameOf(type, metadataJson(stored, version, owner)),
  });
  return { ADDED: encoding('ADDED'), MODIFIED: encoding('MODIFIED'), DELETED: encoding('DELETED') };
}

/**
 * Returns the protobuf message of the object, without an envelope. `message` must always be the message of the object's
 * kind.
 */
export function objectMessage(stored: StoredObject, message: Message): Uint8Array {
  return stored.encoded({ name: 'protobuf', encode: () => encodeMessage(message, stored.object) });
}

/** Returns PartialObjectMetadata as a protobuf message. */
export function metadataMessage(stored: StoredObject, owner: MetadataOwner): Uint8Array {
  const message = metaTypes.message('meta/v1.PartialObjectMetadata');
  const encode = (): Uint8Array => encodeMessage(message, partialMetadata(stored.object, 'v1', owner));
  return stored.encoded({ name: `protobuf-metadata${suffixOf(owner)}`, encode });
}
