// metaTypes: the types that every API server uses, whatever kinds it serves: metadata, Status, options, discovery, and
// the Scale that a resource may have as a subresource. Read from ../../facts on first use (scripts/write-meta-types.mjs
// writes it).
import { existsSync, readFileSync } from 'node:fs';
import type { GoTypeData, ProtobufData, SchemaData, TypeDescription } from './node/schema-source.ts';
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

/** Kubernetes' descriptions of these types and query parameters. */
interface MetaDescriptions {
  readonly definitions: Readonly<Record<string, TypeDescription>>;
  /** Query parameter → its description. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The same for patches, where the description differs. */
  readonly patchParameters: Readonly<Record<string, string>>;
}

let described: MetaDescriptions | undefined;

/** Made by the build (packages/kinds/scripts/write-descriptions.mjs); empty without it. Read on first use. */
export function metaDescriptions(): MetaDescriptions {
  described ??= readDescriptions(new URL('../../dist/meta-descriptions.json', import.meta.url));
  return described;
}

function readDescriptions(file: URL): MetaDescriptions {
  if (!existsSync(file)) return { definitions: {}, parameters: {}, patchParameters: {} };
  return JSON.parse(readFileSync(file, 'utf8')) as MetaDescriptions;
}

export const metaTypes: TypeRegistry = new TypeRegistry({
  schemas: () => metaFacts().schemas,
  protobuf: () => metaFacts().protobuf,
  goTypes: () => metaFacts().goTypes,
  descriptions: () => metaDescriptions().definitions,
});

/** Returns Kubernetes' description of a member of every object's metadata; `absent` when the build did not find it. */
export function metadataDescription(member: 'name' | 'creationTimestamp', absent: string): string {
  return metaTypes.describe('meta/v1.ObjectMeta')?.properties[member] ?? absent;
}

/** Definition and version of Scale, which any resource may have as a subresource. */
export const scaleDefinition = 'autoscaling.v1.Scale';
export const scaleApiVersion = 'autoscaling/v1';
