// The names of a strategic merge patch's directives, and the removal of directives from a patch. Used by
// strategic-merge.ts and strategic-list.ts.
import { isJsonObject, type SlicedWork, type SlicePace, setOwn } from '@kapstan/api/internal';

/** `$patch: delete | replace` in a map or an item of a list. */
export const directive = '$patch';
/** `$retainKeys: [names]` removes all other members. */
export const retainKeys = '$retainKeys';
/** `$deleteFromPrimitiveList/finalizers: [values]`. */
export const deletionPrefix = '$deleteFromPrimitiveList';
/** `$setElementOrder/containers: [{name}, …]`. */
export const orderPrefix = '$setElementOrder';

/** Returns a new value without nulls and directives, which have nothing to act on. */
export function* withoutDirectives(value: unknown, pace: SlicePace): SlicedWork<unknown> {
  if (Array.isArray(value)) return yield* listWithoutDirectives(value, pace);
  if (!isJsonObject(value)) return value;
  const result: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (pace.isDue()) yield;
    if (member !== null && !isDirectiveName(name) && !hasDirective(member))
      setOwn(result, name, typeof member === 'object' ? yield* withoutDirectives(member, pace) : member);
  }
  return result;
}

function* listWithoutDirectives(list: readonly unknown[], pace: SlicePace): SlicedWork<unknown[]> {
  const result: unknown[] = [];
  for (const item of list) {
    if (pace.isDue()) yield;
    if (!hasDirective(item)) result.push(typeof item === 'object' ? yield* withoutDirectives(item, pace) : item);
  }
  return result;
}

export function hasDirective(value: unknown): boolean {
  return isJsonObject(value) && Object.hasOwn(value, directive);
}

function isDirectiveName(name: string): boolean {
  return name === retainKeys || name.startsWith(deletionPrefix) || name.startsWith(orderPrefix);
}
