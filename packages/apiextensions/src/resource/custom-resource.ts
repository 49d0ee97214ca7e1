// CustomResource: from one version of a CustomResourceDefinition to the ResourceDefinition that is served.
// Made by the definition controller; below it the strategy, the table and the schema of the kind.
import { createHash } from 'node:crypto';
import { type DeepReadonly, deepCopy, type UnstructuredObject } from '@kapstan/api';
import { formatApiVersion } from '@kapstan/api/internal';
import type { ResourceDefinition } from '@kapstan/apiserver';
import type { SchemaNode, Subresource } from '@kapstan/apiserver/internal';
import {
  applySchemaDefaults,
  dropForbiddenNulls,
  dropNullsInSlices,
  type JsonSchema,
  pruneUnknownFields,
  schemaDefaultsInSlices,
  structuralSchema,
} from '@kapstan/apiserver/internal';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
} from '@kapstan/kinds/apiextensions.k8s.io/v1';
import type { RuleSchema } from '../rules/rule-schema.ts';
import { RuleValidator } from '../rules/rule-validator.ts';
import { customScaleSubresource } from './custom-resource-scale.ts';
import { type CustomKind, customResourceStrategy, customStatusStrategy } from './custom-resource-strategy.ts';
import { customResourceTable } from './custom-resource-table.ts';
import { deprecationWarning } from './deprecation-warning.ts';
import { readPath, splitDottedPath } from './dotted-path.ts';

type Definition = DeepReadonly<CustomResourceDefinition>;
type Version = DeepReadonly<CustomResourceDefinitionVersion>;

export interface CustomResourceOptions {
  readonly definition: Definition;
  /** One of its versions. */
  readonly version: Version;
  /** The names that it has been given. */
  readonly names: DeepReadonly<CustomResourceDefinitionNames>;
  /** Asked at each create. */
  isTerminating(): boolean;
}

export function customResource(options: CustomResourceOptions): ResourceDefinition<UnstructuredObject> {
  const { definition, version, names } = options;
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
    origin: { maker: 'custom', parts: { definition, version, names } },
    ...(warning === undefined ? {} : { deprecationWarning: warning }),
    applyDefaults: (object) => {
      applySchemaDefaults(kind.schema, object);
      dropForbiddenNulls(kind.schema, object);
    },
    applyDefaultsInSlices: function* (object) {
      yield* schemaDefaultsInSlices(kind.schema, object);
      yield* dropNullsInSlices(kind.schema, object);
    },
    convert: conversion(definition, { schema: kind.schema, served: version.name, stored: storage.name }),
  };
}

function customKind({ definition, version, names, isTerminating }: CustomResourceOptions): CustomKind {
  const jsonSchema = jsonSchemaOf(version);
  return {
    resource: { group: definition.spec.group, resource: names.plural },
    version: version.name,
    jsonSchema,
    rules: rulesOf(jsonSchema as RuleSchema),
    schema: structuralSchema(jsonSchema),
    hasStatus: version.subresources?.status !== undefined,
    scale: version.subresources?.scale,
    isTerminating,
  };
}

/** Looked for at the first write, and compiled then. */
function rulesOf(schema: RuleSchema): () => RuleValidator | undefined {
  let found: { readonly rules: RuleValidator | undefined } | undefined;
  return () => {
    found ??= { rules: RuleValidator.of(schema, true) };
    return found.rules;
  };
}

const anything: JsonSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** No schema: only definitions from before v1 have none. They keep everything. */
function jsonSchemaOf(version: Version): JsonSchema {
  return (version.schema?.openAPIV3Schema ?? anything) as JsonSchema;
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

/** "" where nothing or no scalar stands. */
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
  /** Of the served version. */
  readonly schema: SchemaNode;
  readonly served: string;
  readonly stored: string;
}

/**
 * Strategy None: versions differ in their apiVersion alone. What is stored has gone through the schema of the stored
 * version: pruned and filled by it, whatever version it was written through, then pruned by that of the version that is
 * asked for. Source: crdConversionRESTOptionsGetter.
 */
function conversion(
  { spec: { group, versions } }: Definition,
  { schema, served, stored }: VersionPair,
): NonNullable<ResourceDefinition<UnstructuredObject>['convert']> {
  const servedVersion = formatApiVersion({ group, version: served });
  const storedVersion = formatApiVersion({ group, version: stored });
  const schemas = new Map([[servedVersion, schema]]);
  const schemaOf = (apiVersion: string | undefined): SchemaNode => {
    const known = schemas.get(apiVersion ?? '');
    if (known !== undefined) return known;
    const version = versions.find(({ name }) => formatApiVersion({ group, version: name }) === apiVersion);
    const made = version === undefined ? schema : structuralSchema(jsonSchemaOf(version));
    schemas.set(apiVersion ?? '', made);
    return made;
  };
  return {
    fromStored: (fresh) => {
      const object = fresh as UnstructuredObject;
      const own = schemaOf(object.apiVersion);
      const isPruned = pruneUnknownFields(object, own).unknown.length > 0;
      const isFilled = applySchemaDefaults(own, object);
      const isCleaned = dropForbiddenNulls(own, object);
      const isRepaired = repairGeneration(object);
      if (object.apiVersion === servedVersion && !isPruned && !isFilled && !isCleaned && !isRepaired) return object;
      if (own !== schema) pruneUnknownFields(object, schema);
      return { ...object, apiVersion: servedVersion };
    },
    toStored: (object) => {
      const next = { ...object, apiVersion: storedVersion };
      if (served === stored) return next;
      const copy = deepCopy(next);
      pruneUnknownFields(copy, schemaOf(storedVersion));
      return copy;
    },
  };
}

/** Objects from before generations were counted have none. */
function repairGeneration(object: UnstructuredObject): boolean {
  if (object.metadata?.generation) return false;
  object.metadata = { ...object.metadata, generation: 1 };
  return true;
}
