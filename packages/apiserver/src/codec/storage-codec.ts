// The codecs of stored values by media type, and the choice of one for each resource. Values are recognised by their
// first bytes, so a store may hold every type. Passed to ResourceStack; @kapstan/storage has the port.

import type { Revision, UnstructuredObject } from '@kapstan/api';
import {
  formatApiVersion,
  formatRevision,
  type GroupVersionKind,
  isJsonObject,
  parseApiVersion,
  type SlicedWork,
} from '@kapstan/api/internal';
import { type Codec, jsonCodec } from '@kapstan/storage';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { metaTypes } from '../schema/meta-types.ts';
import type { ApiTypes } from '../schema/node/schema-node.ts';
import { haveSameShape } from '../schema/protobuf-messages.ts';
import { readYaml } from '../schema/yaml-reader.ts';
import { stringifySorted } from './go-json.ts';
import {
  envelopeEncoder,
  hasEnvelope,
  protobufMediaType,
  readEnvelope,
  readEnvelopeInSlices,
} from './protobuf-envelope.ts';
import { encodeYaml } from './yaml-encoder.ts';

/** The forms in which objects can be stored. */
export type StorageMediaType = 'application/json' | typeof protobufMediaType | 'application/yaml';

/** The types in the order of kube-apiserver's message. */
export const storageMediaTypes: readonly StorageMediaType[] = [
  'application/json',
  protobufMediaType,
  'application/yaml',
];

/** True for a media type in which objects can be stored. */
export function isStorageMediaType(text: string): text is StorageMediaType {
  return storageMediaTypes.includes(text as StorageMediaType);
}

type ObjectCodec = Codec<UnstructuredObject>;

export interface StoredKind {
  /** Decoders for the messages of the kind in all its versions. Default: none, as for custom resources. */
  readonly types?: ApiTypes | undefined;
  readonly upgrades?: ResourceDefinition['upgrades'] | undefined;
}

/**
 * Returns the codec for objects of a kind in its stored version. It reads values of every media type. Throws TypeError
 * when the kind cannot be written in the media type, as custom resources in protobuf.
 */
export function storageCodec(
  mediaType: StorageMediaType,
  kind: GroupVersionKind,
  { types = metaTypes, upgrades }: StoredKind = {},
): ObjectCodec {
  const json = jsonCodec<UnstructuredObject>();
  const apiVersion = formatApiVersion(kind);
  const decode = (bytes: Uint8Array, revision: Revision): UnstructuredObject =>
    ofKind(decodeAny(bytes, revision), bytes);
  function* decodeInSlices(bytes: Uint8Array, revision: Revision): SlicedWork<UnstructuredObject> {
    if (hasEnvelope(bytes)) {
      const object = yield* readEnvelopeInSlices(bytes, { types, expected: kind });
      return ofKind(withRevision(object, revision), bytes);
    }
    const inSlices = startsWithBrace(bytes) ? json.decodeInSlices?.(bytes, revision) : undefined;
    return ofKind(inSlices === undefined ? decodeAny(bytes, revision) : yield* inSlices, bytes);
  }
  const ofKind = (object: UnstructuredObject, bytes: Uint8Array): UnstructuredObject => {
    if (object.kind === kind.kind && object.apiVersion === apiVersion) return object;
    const upgrade = object.kind === kind.kind ? upgrades?.get(object.apiVersion ?? '') : undefined;
    if (upgrade === undefined) checkStoredKind(types, object, kind);
    else upgraded.add(bytes);
    return upgrade === undefined ? object : upgrade(object);
  };
  // Stored bytes whose apiVersion differs from that of the object decoded from them.
  const upgraded = new WeakSet<Uint8Array>();
  const isPlain = (bytes: Uint8Array): boolean => startsWithBrace(bytes) && !upgraded.has(bytes);
  const decodeAny = (bytes: Uint8Array, revision: Revision): UnstructuredObject => {
    if (startsWithBrace(bytes)) return json.decode(bytes, revision);
    return withRevision(
      hasEnvelope(bytes) ? readEnvelope(bytes, { types, expected: kind }) : readYamlObject(bytes),
      revision,
    );
  };
  switch (mediaType) {
    case 'application/json':
      return {
        ...json,
        decode,
        decodeInSlices,
        wireJson: (bytes, revision) => (isPlain(bytes) ? json.wireJson?.(bytes, revision) : undefined),
        isSameContent: (a, b) => isPlain(a) && isPlain(b) && (json.isSameContent?.(a, b) ?? false),
        isSameContentInSlices: function* (a, b) {
          const comparing = isPlain(a) && isPlain(b) ? json.isSameContentInSlices?.(a, b) : undefined;
          return comparing !== undefined && (yield* comparing);
        },
      };
    case 'application/yaml':
      return { mediaType, decode, encode: (object) => encoder.encode(encodeYaml(object)) };
    case protobufMediaType:
      return { mediaType, decode, decodeInSlices, encode: envelopeEncoder(types, kind) };
  }
}

/** Options of the codec of a resource. */
export interface ResourceCodecOptions {
  readonly mediaType: StorageMediaType;
  /**
   * True when other servers write to the store too: decoded objects then get defaults that their release may not know.
   */
  readonly isShared: boolean;
}

/** Returns the codec of a resource. Resources that Kubernetes always stores as JSON ignore the media type. */
export function storageCodecOf(definition: ResourceDefinition, options: ResourceCodecOptions): ObjectCodec {
  const kind = { ...definition.storageVersion, kind: definition.kind };
  const isAlwaysJson = definition.isCustom === true || definition.storedAs === 'application/json';
  const mediaType = isAlwaysJson ? 'application/json' : options.mediaType;
  const codec = storageCodec(mediaType, kind, { types: definition.schema.types, upgrades: definition.upgrades });
  if (!options.isShared) return codec;
  // Sorting needs all members at once, so there is no sliced version.
  if (definition.isCustom === true) return { ...codec, encode: encodeSorted, encodeInSlices: wholeOf(encodeSorted) };
  // An object that is converted when it is read gets its defaults there.
  return definition.convert === undefined ? withDefaults(codec, definition) : codec;
}

function wholeOf(encode: (object: UnstructuredObject) => Uint8Array): NonNullable<ObjectCodec['encodeInSlices']> {
  return function* (object) {
    yield;
    return encode(object);
  };
}

/**
 * Writes the same bytes as a kube-apiserver, so that either server sees when an update changes nothing in a value of
 * the other.
 */
function encodeSorted(object: UnstructuredObject): Uint8Array {
  return encoder.encode(`${stringifySorted(object)}\n`);
}

function withDefaults(codec: ObjectCodec, definition: ResourceDefinition): ObjectCodec {
  const { applyDefaults, applyDefaultsInSlices, strategy } = definition;
  const { decodeInSlices, ...rest } = codec;
  const complete = (object: UnstructuredObject): UnstructuredObject => {
    strategy.canonicalize?.(object);
    return object;
  };
  return {
    ...rest,
    decode: (bytes, revision) => {
      const object = codec.decode(bytes, revision);
      applyDefaults(object);
      return complete(object);
    },
    ...(decodeInSlices && {
      decodeInSlices: function* (bytes: Uint8Array, revision: Revision) {
        const object = yield* decodeInSlices(bytes, revision);
        if (applyDefaultsInSlices === undefined) applyDefaults(object);
        else yield* applyDefaultsInSlices(object);
        return complete(object);
      },
    }),
    // The stored bytes may lack defaults, so the wire form is made from the object on demand.
    wireJson: () => undefined,
  };
}

/**
 * Checks the kind of a value that another release or program may have written: a version of the same shape is accepted,
 * any other kind refused. Custom resources and definitions are converted by their owners.
 */
function checkStoredKind(types: ApiTypes, { apiVersion, kind }: UnstructuredObject, expected: GroupVersionKind): void {
  if (kind === undefined || apiVersion === undefined) return;
  const wanted = types.messageOfKind(expected);
  if (wanted === undefined) return;
  const version = parseApiVersion(apiVersion);
  const found = types.messageOfKind({ ...version, kind });
  if (found === undefined) throw new TypeError(`no kind "${kind}" is registered for version "${apiVersion}"`);
  if (kind === expected.kind && version.group === expected.group && haveSameShape(found, wanted)) return;
  throw new TypeError(`${apiVersion} ${kind} is stored where ${formatApiVersion(expected)} ${expected.kind} belongs`);
}

const encoder = new TextEncoder();
const texts = new TextDecoder('utf-8', { fatal: true });

/** Matches objects only, as the JSON recognizer of apimachinery does. */
function startsWithBrace(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (!blanks.has(byte)) return byte === 0x7b;
  return false;
}

const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

function readYamlObject(bytes: Uint8Array): Record<string, unknown> {
  const { value } = readYaml(texts.decode(bytes));
  if (!isJsonObject(value)) throw new TypeError('the stored value is not an object');
  return value;
}

function withRevision(value: Record<string, unknown>, revision: Revision): UnstructuredObject {
  const object = value as UnstructuredObject;
  object.metadata = { ...object.metadata, resourceVersion: formatRevision(revision) };
  return object;
}
