// Converts an object to the other versions of its kind, in which managers own fields too. Made by field-manager.ts from
// the definitions of those versions. Source: managedfields versionConverter.

import { isStatusError, type UnstructuredObject } from '@kapstan/api';
import { awaited, copyInSlices, formatApiVersion, type SlicedWork } from '@kapstan/api/internal';
import type { ObjectConversion } from '../registry/definition/object-conversion.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import type { FieldSet } from './field-set.ts';
import { rootSchema } from './schema-atom.ts';
import { typedFault } from './typed-validation.ts';

export interface VersionView {
  readonly schema: SchemaNode;
  /** Fields that the endpoint resets in this version. */
  readonly ignored: FieldSet;
  /** Converts an object of the request's version to this one. `which` names it in the error. Throws ConversionError. */
  show(object: unknown, which: 'old' | 'new' | 'merged'): SlicedWork<unknown>;
  /** Converts it back. */
  back(object: unknown): SlicedWork<unknown>;
}

export interface VersionViews {
  /** Returns undefined when no such version of the kind is served. */
  view(apiVersion: string): VersionView | undefined;
}

/** The object does not fit a version of its kind. An apply then answers 500; an update drops the managed fields. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

/** `own`: the version of the request. */
export function versionView(own: ResourceDefinition, other: ResourceDefinition, ignored: FieldSet): VersionView {
  const schema = rootSchema(other.schema);
  return {
    schema,
    ignored,
    show: function* (object, which) {
      const shown = yield* convert(object, own, other);
      const fault = yield* typedFault(shown, schema, { duplicates: 'refuse' });
      if (fault !== undefined) throw new ConversionError(`failed to convert ${which} object: ${fault}`);
      return shown;
    },
    back: (object) => convert(object, other, own),
  };
}

/** Without a conversion, versions of a custom resource differ in apiVersion only; fields that another version does not know are kept. */
function* convert(object: unknown, from: ResourceDefinition, to: ResourceDefinition): SlicedWork<UnstructuredObject> {
  const copy = (yield* copyInSlices(object)) as UnstructuredObject;
  const apiVersion = formatApiVersion(to);
  if (to.conversion !== undefined) return yield* convertByConversion(copy, to.conversion, apiVersion);
  if (to.isCustom === true) return { ...copy, apiVersion };
  const stored = from.convert?.toStored(copy) ?? copy;
  return { ...(to.convert?.fromStored(stored) ?? stored), apiVersion };
}

function* convertByConversion(
  object: UnstructuredObject,
  conversion: ObjectConversion,
  apiVersion: string,
): SlicedWork<UnstructuredObject> {
  try {
    const [converted] = yield* awaited(conversion.convert([object], apiVersion));
    return converted as UnstructuredObject;
  } catch (error) {
    if (!isStatusError(error)) throw error;
    throw new ConversionError(error.message, { cause: error });
  }
}
