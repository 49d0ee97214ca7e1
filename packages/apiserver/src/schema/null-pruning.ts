// Removes nulls that the schema of a custom resource does not allow. pruning.ts removes unknown names.
import { isJsonObject, namesInSlices, type SlicedWork, SlicePace } from '@kapstan/api/internal';
import type { SchemaNode } from './node/schema-node.ts';

interface Place {
  readonly node: SchemaNode;
  readonly value: unknown[] | Record<string, unknown>;
}

/**
 * Removes, in place, members that are null although their schema is not nullable and has no default, which would replace the null. Nulls in
 * lists stay, and validation reports them. Returns true when it removed something. Deeper levels wait in a list, so that one generator
 * handles all. Source: structural defaulting.PruneNonNullableNullsWithoutDefaults.
 */
export function* dropNullsInSlices(node: SchemaNode, value: unknown): SlicedWork<boolean> {
  const open: Place[] = [];
  enter(open, node, value);
  const pace = new SlicePace();
  let isChanged = false;
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const steps: readonly unknown[] = Array.isArray(place.value) ? place.value : yield* namesInSlices(place.value);
    for (const step of steps) {
      if (pace.isDue()) yield;
      if (takeStep(place, step, open)) isChanged = true;
    }
  }
  return isChanged;
}

function enter(open: Place[], node: SchemaNode | undefined, value: unknown): void {
  if (node !== undefined && (Array.isArray(value) || isJsonObject(value))) open.push({ node, value });
}

/** Looks at an item or, if `step` is a name, a member. Returns true when it removed the member. */
function takeStep({ node, value }: Place, step: unknown, open: Place[]): boolean {
  if (Array.isArray(value)) {
    enter(open, node.items, step);
    return false;
  }
  const name = step as string;
  const member = value[name];
  if (typeof member !== 'object') return false;
  const schema = node.properties?.get(name) ?? valuesOf(node);
  if (member === null) return schema !== undefined && isForbidden(schema) && delete value[name];
  enter(open, schema, member);
  return false;
}

function isForbidden({ nullable, default: value }: SchemaNode): boolean {
  return nullable !== true && value === undefined;
}

function valuesOf({ additionalProperties }: SchemaNode): SchemaNode | undefined {
  return additionalProperties === true ? undefined : additionalProperties;
}
