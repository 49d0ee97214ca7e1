// Converts between the stored form of a resource and one of its served versions. Stands between a media type's codec
// and ObjectStore.

import type { Revision, UnstructuredObject } from '@kapstan/api';
import { formatApiVersion, formatRevision } from '@kapstan/api/internal';
import type { Codec } from '@kapstan/storage';
import type { ResourceDefinition } from './resource-definition.ts';

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
  // Bytes that needed no conversion, so that their wire form can be taken from them.
  const plain = new WeakSet<Uint8Array>();
  const storedForm = (object: UnstructuredObject): UnstructuredObject =>
    convert === undefined ? { ...object, apiVersion: stored } : convert.toStored(object);
  const { encodeInSlices, decodeInSlices } = base;
  const servedForm = (object: UnstructuredObject, bytes: Uint8Array, revision: Revision): UnstructuredObject => {
    const isOfVersion = object.apiVersion === served;
    const converted = convert === undefined ? object : convert.fromStored(object);
    if (isOfVersion && converted === object) plain.add(bytes);
    if (convert === undefined) object.apiVersion = served;
    if (converted === object && object.apiVersion === served) return object;
    return { ...converted, metadata: { ...converted.metadata, resourceVersion: formatRevision(revision) } };
  };
  return {
    ...base,
    encode: (object) => base.encode(storedForm(object)),
    ...(encodeInSlices && { encodeInSlices: (object) => encodeInSlices(storedForm(object)) }),
    decode: (bytes, revision) => servedForm(base.decode(bytes, revision), bytes, revision),
    ...(decodeInSlices && {
      decodeInSlices: function* (bytes, revision) {
        return servedForm(yield* decodeInSlices(bytes, revision), bytes, revision);
      },
    }),
    wireJson: (bytes, revision) => (plain.has(bytes) ? base.wireJson?.(bytes, revision) : undefined),
  };
}
