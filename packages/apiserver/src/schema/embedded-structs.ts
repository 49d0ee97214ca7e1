// Which fields of a built-in definition stand in embedded Go structs, from the flags of the protobuf facts. Go's JSON
// decoder names these structs in its complaints.
import { getOwn } from '@kapstan/api/internal';
import { type ProtobufField, protobufFacts } from '@kapstan/kinds/facts';

/** JSON field → names of the embedded structs around it, the outer one first. Fields of the struct itself are not in it. */
export function embeddedStructs(definition: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const collect = (name: string, around: readonly string[]): void => {
    const message = getOwn(protobufFacts().messages, name) as Readonly<Record<string, ProtobufField>> | undefined;
    for (const [field, row] of Object.entries(message ?? {})) {
      const [, type, , flags = '', jsonName = field] = row;
      if (flags.includes('i')) collect(type, [...around, type.slice(type.lastIndexOf('.') + 1)]);
      else if (around.length > 0) found.set(jsonName, around);
    }
  };
  collect(definition, []);
  return found;
}
