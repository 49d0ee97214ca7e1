// Finds the fields of a definition that are in embedded Go structs, from the flags of its protobuf message. Go's JSON
// decoder names these structs in its complaints.
import { getOwn } from '@kapstan/api/internal';
import type { ProtobufData, ProtobufField } from './node/schema-source.ts';

/**
 * Maps a JSON field to the names of the embedded structs around it, the outer one first. Fields of the struct itself
 * are not included.
 */
export function embeddedStructs(
  { messages }: ProtobufData,
  definition: string,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const collect = (name: string, around: readonly string[]): void => {
    const message = getOwn(messages, name) as Readonly<Record<string, ProtobufField>> | undefined;
    for (const [field, row] of Object.entries(message ?? {})) {
      const [, type, , flags = '', jsonName = field] = row;
      if (flags.includes('i')) collect(type, [...around, type.slice(type.lastIndexOf('.') + 1)]);
      else if (around.length > 0) found.set(jsonName, around);
    }
  };
  collect(definition, []);
  return found;
}
