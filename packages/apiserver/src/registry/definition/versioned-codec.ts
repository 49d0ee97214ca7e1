// Converts between the stored form of a resource and one of its served versions. It sits between a media type's codec
// and ObjectStore.

import type { Revision, UnstructuredObject } from '@kapstan/api';
import { formatApiVersion, formatRevision, type SlicedWork } from '@kapstan/api/internal';
import type { Codec } from '@kapstan/storage';
import type { ResourceDefinition } from './resource-definition.ts';

/** A value just read from storage. */
interface Reading {
  readonly bytes: Uint8Array;
  readonly revision: Revision;
  /** True when it was stored in the served version. */
  readonly isOfVersion: boolean;
}

/**
 * Reads objects of any stored version into the definition's version and writes them in its storage version. `base`
 * knows the media type only.
 */
export function versionedCodec(
  definition: ResourceDefinition<UnstructuredObject>,
  base: Codec<UnstructuredObject>,
): Codec<UnstructuredObject> {
  const served = formatApiVersion(definition);
  const stored = formatApiVersion(definition.storageVersion);
  const { convert } = definition;
  // Bytes that needed no conversion, so that their wire form can be used.
  const plain = new WeakSet<Uint8Array>();
  const { encodeInSlices, decodeInSlices } = base;
  const storedForm = (object: UnstructuredObject): UnstructuredObject =>
    convert === undefined ? { ...object, apiVersion: stored } : convert.toStored(object);
  const storedFormInSlices = function* (object: UnstructuredObject): SlicedWork<UnstructuredObject> {
    return convert?.toStoredInSlices === undefined ? storedForm(object) : yield* convert.toStoredInSlices(object);
  };
  const converted = (object: UnstructuredObject): UnstructuredObject =>
    convert === undefined ? object : convert.fromStored(object);
  const convertedInSlices = function* (object: UnstructuredObject): SlicedWork<UnstructuredObject> {
    return convert?.fromStoredInSlices === undefined ? converted(object) : yield* convert.fromStoredInSlices(object);
  };
  const finished = (
    object: UnstructuredObject,
    now: UnstructuredObject,
    { bytes, revision, isOfVersion }: Reading,
  ): UnstructuredObject => {
    if (isOfVersion && now === object) plain.add(bytes);
    if (convert === undefined) object.apiVersion = served;
    if (now === object && object.apiVersion === served) return object;
    return { ...now, metadata: { ...now.metadata, resourceVersion: formatRevision(revision) } };
  };
  return {
    ...base,
    encode: (object) => base.encode(storedForm(object)),
    ...(encodeInSlices && {
      encodeInSlices: function* (object) {
        return yield* encodeInSlices(yield* storedFormInSlices(object));
      },
    }),
    decode: (bytes, revision) => {
      const object = base.decode(bytes, revision);
      const reading = { bytes, revision, isOfVersion: object.apiVersion === served };
      return finished(object, converted(object), reading);
    },
    ...(decodeInSlices && {
      decodeInSlices: function* (bytes, revision) {
        const object = yield* decodeInSlices(bytes, revision);
        const reading = { bytes, revision, isOfVersion: object.apiVersion === served };
        return finished(object, yield* convertedInSlices(object), reading);
      },
    }),
    wireJson: (bytes, revision) => (plain.has(bytes) ? base.wireJson?.(bytes, revision) : undefined),
  };
}
