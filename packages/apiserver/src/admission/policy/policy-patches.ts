// Applies the results of the expressions of mutating policies: an apply configuration or operations of a JSON patch. Used by
// mutating-policies.ts. Source: plugin/policy/mutating/patch.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import {
  copyInSlices,
  formatApiVersion,
  getOwn,
  namesInSlices,
  type SlicedWork,
  SlicePace,
} from '@kapstan/api/internal';
import { type AnyList, listItems } from '@kapstan/cel';
import { fieldElement, formatPath, indexElement, type PathElement } from '../../fieldmanager/path-element.ts';
import { isNamedField, itemSchema, memberSchema, ownershipOf, rootSchema } from '../../fieldmanager/schema-atom.ts';
import { mergeTyped } from '../../fieldmanager/typed-merge.ts';
import { typedFault } from '../../fieldmanager/typed-validation.ts';
import { applyOperations, JsonPatchFault, type JsonPatchOperation } from '../../patch/json-patch.ts';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import { changedObject, type PatchedKind, schemaOfPatched } from '../matching/changed-object.ts';
import { PatchObject, PatchOperation } from './patch-types.ts';
import { PatchValueFault, patchJson, typeNameFault } from './patch-values.ts';
import { PolicyFault } from './policy-fault.ts';

/** An object, its resource and its kind. */
export interface PatchTarget {
  readonly object: DeepReadonly<KubernetesObject>;
  readonly of: PatchedKind;
}

/**
 * Merges like server-side apply. Throws PolicyFault for a configuration that does not fit, otherwise StatusError 500.
 */
export function* applyConfiguration(value: unknown, { object, of }: PatchTarget): SlicedWork<KubernetesObject> {
  if (!(value instanceof PatchObject))
    throw new PolicyFault('unsupported return type from ApplyConfiguration expression');
  yield* requireTypeNames(value, 'Object');
  const json = (yield* jsonOf(value, 'invalid return type')) as object;
  const configuration = { ...json, apiVersion: formatApiVersion(of.kind), kind: of.kind.kind };
  const schema = rootSchema(schemaOfPatched(of) ?? { preserveUnknownFields: true });
  const fault = yield* typedFault(configuration, schema, { duplicates: 'refuse' });
  if (fault !== undefined) {
    throw new PolicyFault(`error applying patch: failed to convert patch object to typed object: ${fault}`);
  }
  const atomics: string[] = [];
  yield* findAtomics(configuration, schema, { path: [], atomics, pace: new SlicePace() });
  if (atomics.length > 0) {
    const list = atomics.join(', ');
    throw new PolicyFault(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${list}`,
    );
  }
  const merged = yield* mergeTyped(object, configuration, { node: schema });
  return yield* changedObject(merged, of);
}

interface AtomicSearch {
  /** Path of the place under inspection. */
  readonly path: PathElement[];
  /** Paths that were found. */
  readonly atomics: string[];
  readonly pace: SlicePace;
}

/** Finds lists and maps that are owned as a whole, which cannot be merged. Only named fields are searched. */
function* findAtomics(value: object, node: SchemaNode, search: AtomicSearch): SlicedWork<void> {
  const { path, atomics } = search;
  // Separate texts for many fields would be longer than the object.
  if (ownershipOf(node, value) === 'leaf' && atomics.length < maxNamed) atomics.push(formatPath(path));
  yield* Array.isArray(value) ? atomicsInItems(value, node, search) : atomicsInFields(value, node, search);
}

function* atomicsInItems(list: readonly unknown[], node: SchemaNode, search: AtomicSearch): SlicedWork<void> {
  for (const [index, item] of list.entries()) {
    if (search.pace.isDue()) yield;
    if (!isContainer(item)) continue;
    search.path.push(indexElement(index));
    yield* findAtomics(item, itemSchema(node), search);
    search.path.pop();
  }
}

function* atomicsInFields(map: object, node: SchemaNode, search: AtomicSearch): SlicedWork<void> {
  for (const name of yield* namesInSlices(map)) {
    if (search.pace.isDue()) yield;
    const member = getOwn(map, name);
    if (!isContainer(member) || !isNamedField(node, name)) continue;
    const schema = memberSchema(node, name);
    if (schema === undefined) continue;
    search.path.push(fieldElement(name));
    yield* findAtomics(member, schema, search);
    search.path.pop();
  }
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

const maxNamed = 100;

/**
 * Applies operations to a copy. Returns the object itself when a test among them fails. Throws PolicyFault for
 * operations that do not apply, and StatusError 500 if the result is not an object of the kind.
 */
export function* applyPatchOperations(
  value: unknown,
  { object, of }: PatchTarget,
): SlicedWork<DeepReadonly<KubernetesObject>> {
  const operations: JsonPatchOperation[] = [];
  for (const item of listItems(value as AnyList)) operations.push(yield* operationOf(item));
  const copy = yield* copyInSlices(object);
  try {
    const patched = yield* applyOperations(copy, operations);
    return yield* changedObject(patched, { ...of, isStrict: true });
  } catch (error) {
    if (!(error instanceof JsonPatchFault)) throw error;
    if (error.isFailedTest) return object;
    throw new PolicyFault(`JSON Patch: ${error.message}`, { cause: error });
  }
}

function* operationOf(value: unknown): SlicedWork<JsonPatchOperation> {
  if (!(value instanceof PatchOperation)) {
    throw new PolicyFault('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch');
  }
  const { op, path, from, value: operand } = value;
  const operation = from === '' ? { op, path } : { op, path, from };
  if (operand === undefined) return operation;
  if (operand instanceof PatchObject) yield* requireTypeNames(operand, operand.type.name);
  const marshal = 'JSONPath valueExpression evaluated to a type that could not marshal to JSON';
  return { ...operation, value: yield* jsonOf(operand, marshal) };
}

function* requireTypeNames(value: PatchObject, path: string): SlicedWork<void> {
  const fault = yield* typeNameFault(value, path);
  if (fault !== undefined) throw new PolicyFault(`type mismatch: ${fault}`);
}

function* jsonOf(value: unknown, what: string): SlicedWork<unknown> {
  try {
    return yield* patchJson(value);
  } catch (error) {
    if (!(error instanceof PatchValueFault)) throw error;
    throw new PolicyFault(`${what}: ${error.message}`, { cause: error });
  }
}
