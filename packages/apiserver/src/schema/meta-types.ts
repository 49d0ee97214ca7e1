// metaTypes: the types that every API server uses, whatever kinds it serves: metadata, Status, options, discovery, and
// the Scale that a resource may have as a subresource. Read from ../../facts on first use (scripts/write-meta-types.mjs
// writes it).
import { readFileSync } from 'node:fs';
import type { GoTypeData, ProtobufData, SchemaData } from './schema-source.ts';
import { TypeRegistry } from './type-registry.ts';

interface MetaFacts {
  readonly schemas: SchemaData;
  readonly protobuf: ProtobufData;
  readonly goTypes: GoTypeData;
  /** Query parameters of each action, with their types. */
  readonly queryParameters: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

let known: MetaFacts | undefined;

/** Both src/schema and dist/schema are two folders below the package, so one relative URL serves sources and build. */
export function metaFacts(): MetaFacts {
  known ??= JSON.parse(readFileSync(new URL('../../facts/meta-types.json', import.meta.url), 'utf8')) as MetaFacts;
  return known;
}

export const metaTypes: TypeRegistry = new TypeRegistry({
  schemas: () => metaFacts().schemas,
  protobuf: () => metaFacts().protobuf,
  goTypes: () => metaFacts().goTypes,
});

/** Definition and version of Scale, which any resource may have as a subresource. */
export const scaleDefinition = 'autoscaling.v1.Scale';
export const scaleApiVersion = 'autoscaling/v1';
