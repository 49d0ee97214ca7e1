// CustomResource makes the served ResourceDefinition from one version of a CustomResourceDefinition. Made by the
// definition controller; it uses the strategy, the table and the schema of the kind.
import { createHash } from 'node:crypto';
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { copyInSlices, formatApiVersion, runWhole, type SlicedWork } from '@kapstan/api/internal';
import type { ResourceDefinition } from '@kapstan/apiserver';
import type { ObjectConversion, SchemaNode, Subresource } from '@kapstan/apiserver/internal';
import {
  applySchemaDefaults,
  dropNullsInSlices,
  pruneInSlices,
  schemaDefaultsInSlices,
  structuralSchema,
} from '@kapstan/apiserver/internal';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
} from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { customScaleSubresource } from './custom-resource-scale.ts';
import { type CustomKind, customResourceStrategy, customStatusStrategy } from './custom-resource-strategy.ts';
import { customResourceTable } from './custom-resource-table.ts';
import { deprecationWarning } from './deprecation-warning.ts';
import { readPath, splitDottedPath } from './dotted-path.ts';
import { jsonSchemaOf, rulesOfVersion } from './version-rules.ts';

type Definition = DeepReadonly<CustomResourceDefinition>;
type Version = DeepReadonly<CustomResourceDefinitionVersion>;

/** Options of {@link customResource}. */
export interface CustomResourceOptions {
  readonly definition: Definition;
  /** The version to make. */
  readonly version: Version;
  /** The names that were accepted. */
  readonly names: DeepReadonly<CustomResourceDefinitionNames>;
  /** Called at each create. */
  isTerminating(): boolean;
  /** Absent: versions differ in their apiVersion alone. */
  readonly conversion?: ObjectConversion | undefined;
}

/** Returns the definition of a custom kind in one version, for a catalog of the API server. */
export function customResource(options: CustomResourceOptions): ResourceDefinition<UnstructuredObject> {
  const { definition, version, names, conversion } = options;
  const { group, scope, versions } = definition.spec;
  const storage = versions.find((candidate) => candidate.storage) ?? version;
  const kind = customKind(options);
  const warning = version.deprecated === true ? deprecationWarning(definition, version) : undefined;
  const storageVersion = { group, version: storage.name };
  const identity = { group, version: version.name, kind: names.kind };
  return {
    ...identity,
    resource: names.plural,
    singular: names.singular ?? '',
    listKind: names.listKind ?? `${names.kind}List`,
    namespaced: scope === 'Namespaced',
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
    storageVersionHash: storageVersionHash({ ...storageVersion, kind: names.kind }),
    storagePrefix: `/${group}/${names.plural}`,
    storageVersion,
    schema: kind.schema,
    strategy: customResourceStrategy(kind),
    subresources: subresourcesOf(kind),
    table: customResourceTable(version.additionalPrinterColumns),
    ...selection(version, scope === 'Namespaced'),
    isCustom: true,
    published: publishedResource(definition, version),
    origin: { maker: 'custom', parts: { definition, version, names } },
    deprecationWarning: warning,
    applyDefaults: (object) => applySchemaDefaults(kind.schema, object),
    applyDefaultsInSlices: function* (object) {
      yield* schemaDefaultsInSlices(kind.schema, object);
    },
    ...(conversion === undefined
      ? { convert: convertByName(definition, { schema: kind.schema, served: version.name, stored: storage.name }) }
      : { conversion, convert: storedForm(definition) }),
  };
}

function publishedResource(
  { metadata, spec }: Definition,
  { schema }: Version,
): NonNullable<ResourceDefinition['published']> {
  const { uid, generation } = metadata ?? {};
  return {
    ...(uid === undefined || generation === undefined ? {} : { revision: `${uid} ${generation}` }),
    hasSchema: schema?.openAPIV3Schema !== undefined,
    keepsUnknownFields: spec.preserveUnknownFields === true,
  };
}

function customKind({ definition, version, names, isTerminating }: CustomResourceOptions): CustomKind {
  const jsonSchema = jsonSchemaOf(version);
  return {
    resource: { group: definition.spec.group, resource: names.plural },
    version: version.name,
    isNamespaced: definition.spec.scope === 'Namespaced',
    jsonSchema,
    rules: rulesOfVersion(definition, version),
    schema: structuralSchema(jsonSchema),
    hasStatus: version.subresources?.status !== undefined,
    scale: version.subresources?.scale,
    isTerminating,
  };
}

function subresourcesOf(kind: CustomKind): Subresource<UnstructuredObject>[] {
  const verbs = ['get', 'patch', 'update'] as const;
  return [
    ...(kind.hasStatus
      ? [{ type: 'strategy', name: 'status', verbs, strategy: customStatusStrategy(kind) } as const]
      : []),
    ...(kind.scale === undefined
      ? []
      : [customScaleSubresource({ ...kind.resource, version: kind.version }, kind.scale)]),
  ];
}

/** Source: discovery.StorageVersionHash. */
function storageVersionHash({ group, version, kind }: { group: string; version: string; kind: string }): string {
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
}

type Selection = Pick<
  ResourceDefinition<UnstructuredObject>,
  'getAttributes' | 'selectableFields' | 'unsupportedFieldMessage'
>;

function selection(version: Version, isNamespaced: boolean): Selection {
  const paths = (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath);
  const fields = paths.map((path) => [splitDottedPath(path).join('.'), path] as const);
  return {
    selectableFields: fields.map(([key]) => key),
    unsupportedFieldMessage: (key) => `field label not supported: ${key}`,
    getAttributes: (object) => {
      const values: Record<string, string> = { 'metadata.name': object.metadata?.name ?? '' };
      if (isNamespaced) values['metadata.namespace'] = object.metadata?.namespace ?? '';
      for (const [key, path] of fields) values[key] = selectedText(object, path);
      return { labels: object.metadata?.labels ?? {}, fields: values };
    },
  };
}

/** Returns "" when there is no scalar at the path. */
function selectedText(object: DeepReadonly<UnstructuredObject>, path: string): string {
  try {
    const value = readPath(object, path);
    return value === undefined || value === null || (typeof value === 'object' && !('text' in value))
      ? ''
      : String(value);
  } catch (error) {
    if (error instanceof TypeError) return '';
    throw error;
  }
}

interface VersionPair {
  /** Schema of the served version. */
  readonly schema: SchemaNode;
  readonly served: string;
  readonly stored: string;
}

/**
 * Converts by the strategy None: versions differ in apiVersion only. An object is pruned and defaulted by the schema of the stored version,
 * whatever version it was written through, and then pruned by the schema of the requested version. Source: crdConversionRESTOptionsGetter.
 */
function convertByName(
  definition: Definition,
  { schema, served, stored }: VersionPair,
): NonNullable<ResourceDefinition<UnstructuredObject>['convert']> {
  const { group } = definition.spec;
  const servedVersion = formatApiVersion({ group, version: served });
  const storedVersion = formatApiVersion({ group, version: stored });
  const schemas = versionSchemas(definition);
  const schemaOf = (apiVersion: string | undefined): SchemaNode => schemas(apiVersion ?? '') ?? schema;
  const fromStored = function* (fresh: DeepReadonly<UnstructuredObject>): SlicedWork<UnstructuredObject> {
    const object = fresh as UnstructuredObject;
    const own = object.apiVersion === servedVersion ? schema : schemaOf(object.apiVersion);
    const isChanged = yield* followOwnSchema(object, own);
    if (object.apiVersion === servedVersion && !isChanged) return object;
    if (own !== schema) yield* pruneInSlices(object, schema);
    return { ...object, apiVersion: servedVersion };
  };
  const toStored = function* (object: UnstructuredObject): SlicedWork<UnstructuredObject> {
    const next = { ...object, apiVersion: storedVersion };
    if (served === stored) return next;
    const copy = yield* copyInSlices(next);
    yield* pruneInSlices(copy, schemaOf(storedVersion));
    return copy;
  };
  return {
    fromStored: (object) => runWhole(fromStored(object)),
    fromStoredInSlices: fromStored,
    toStored: (object) => runWhole(toStored(object)),
    toStoredInSlices: toStored,
  };
}

/**
 * Returns the stored form of objects, whatever their version: each is treated by the schema of its own version only. A conversion happens
 * outside this form.
 */
function storedForm(definition: Definition): NonNullable<ResourceDefinition<UnstructuredObject>['convert']> {
  const schemas = versionSchemas(definition);
  const fromStored = function* (fresh: DeepReadonly<UnstructuredObject>): SlicedWork<UnstructuredObject> {
    const object = fresh as UnstructuredObject;
    const own = schemas(object.apiVersion ?? '');
    const isChanged = own === undefined ? repairGeneration(object) : yield* followOwnSchema(object, own);
    return isChanged ? { ...object } : object;
  };
  return {
    fromStored: (object) => runWhole(fromStored(object)),
    fromStoredInSlices: fromStored,
    toStored: (object) => object,
  };
}

/** Schemas of a definition's versions by apiVersion, each made on first use. Undefined for other versions. */
export function versionSchemas({
  spec: { group, versions },
}: Definition): (apiVersion: string) => SchemaNode | undefined {
  const schemas = new Map<string, SchemaNode>();
  return (apiVersion) => {
    const known = schemas.get(apiVersion);
    if (known !== undefined) return known;
    const version = versions.find(({ name }) => formatApiVersion({ group, version: name }) === apiVersion);
    if (version === undefined) return undefined;
    const made = structuralSchema(jsonSchemaOf(version));
    schemas.set(apiVersion, made);
    return made;
  };
}

/** Prunes the object, adds defaults and drops nulls by the schema of its own version, in place. Returns true when that changed it. */
function* followOwnSchema(object: UnstructuredObject, schema: SchemaNode): SlicedWork<boolean> {
  const isPruned = (yield* pruneInSlices(object, schema)).unknown.length > 0;
  const isFilled = yield* schemaDefaultsInSlices(schema, object);
  const isCleaned = yield* dropNullsInSlices(schema, object);
  const isRepaired = repairGeneration(object);
  return isPruned || isFilled || isCleaned || isRepaired;
}

/** Objects stored before generations were counted have none. */
function repairGeneration(object: UnstructuredObject): boolean {
  if (object.metadata?.generation) return false;
  object.metadata = { ...object.metadata, generation: 1 };
  return true;
}
