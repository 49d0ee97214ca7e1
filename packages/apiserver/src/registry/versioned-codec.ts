// The stored form of a resource and the form in which one of its versions serves it. Between a media type's codec and ObjectStore.
import { formatApiVersion, formatRevision, type UnstructuredObject } from '@kapstan/api';
import type { Codec } from '@kapstan/storage';
import type { ResourceDefinition } from './resource-definition.ts';

/**
 * Reads objects into the version of the definition, whatever version they are stored in, and writes them in its storage
 * version. `base` knows the media type only.
 */
export function versionedCodec(
  definition: ResourceDefinition<UnstructuredObject>,
  base: Codec<UnstructuredObject>,
): Codec<UnstructuredObject> {
  const served = formatApiVersion(definition);
  const stored = formatApiVersion(definition.storageVersion);
  const { convert } = definition;
  // Bytes that were read and needed no conversion: their wire form can be taken from them.
  const plain = new WeakSet<Uint8Array>();
  return {
    ...base,
    encode: (object) =>
      base.encode(convert === undefined ? { ...object, apiVersion: stored } : convert.toStored(object)),
    decode: (bytes, revision) => {
      const object = base.decode(bytes, revision);
      const isOfVersion = object.apiVersion === served;
      const converted = convert === undefined ? object : convert.fromStored(object);
      if (isOfVersion && converted === object) plain.add(bytes);
      if (convert === undefined) object.apiVersion = served;
      if (converted === object && object.apiVersion === served) return object;
      return { ...converted, metadata: { ...converted.metadata, resourceVersion: formatRevision(revision) } };
    },
    wireJson: (bytes, revision) => (plain.has(bytes) ? base.wireJson?.(bytes, revision) : undefined),
  };
}
