// Runs sliced work of a request in one turn, for tests of its result.
import type { UnstructuredObject } from '@kapstan/api';
import { runWhole } from '@kapstan/api/internal';
import { createPatcher, type PatchOptions, type PatchRequest } from '../patch/apply-patch.ts';
import { type DecodeObjectOptions, decodeObjectInSlices } from '../schema/decode-object.ts';

export function decodeObject(body: Uint8Array, options: DecodeObjectOptions): UnstructuredObject {
  return runWhole(decodeObjectInSlices(body, options));
}

export function applyPatch(
  present: UnstructuredObject,
  patch: PatchRequest,
  options: PatchOptions,
): UnstructuredObject {
  return runWhole(createPatcher(patch, options)(present));
}
