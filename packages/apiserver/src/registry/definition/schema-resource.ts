// SchemaResource makes the definition of a resource from a structural schema, as for custom resources. Programs that
// serve their own kinds use it.
import { createHash } from 'node:crypto';
import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import { defaultAttributes } from '@kapstan/storage';
import { applySchemaDefaults } from '../../schema/defaulting.ts';
import { type JsonSchema, structuralSchema } from '../../schema/structural-schema.ts';
import { compileValidator } from '../../schema/value-validation.ts';
import { defaultTable } from '../../table/default-table.ts';
import type { TableConvertor } from '../../table/table.ts';
import {
  bumpGenerationOnSpecChange,
  defaultStrategy,
  startGeneration,
  statusStrategy,
  withoutStatus,
} from './default-strategy.ts';
import type { ResourceDefinition, Subresource } from './resource-definition.ts';
import type { ResourceStrategy } from './strategy.ts';

/** One kind in one version, as the program describes it. */
export interface SchemaKind<T extends KubernetesObject = UnstructuredObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** For example "books". */
  readonly plural: string;
  /** Default: the kind in lower case. */
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  /** For example "all", for `kubectl get all`. */
  readonly categories?: readonly string[];
  /** Default true. */
  readonly namespaced?: boolean;
  /**
   * OpenAPI v3 as in a CustomResourceDefinition, without apiVersion, kind and metadata. Fields that it does not name
   * are dropped.
   */
  readonly schema: JsonSchema;
  /** True = the status has its own endpoint, and writes of the object do not change it. Default false. */
  readonly hasStatus?: boolean;
  /** Default: name and age. */
  readonly table?: TableConvertor<T>;
  /** Rules beyond the schema's. */
  validate?(object: DeepReadonly<T>, old: DeepReadonly<T> | undefined): readonly FieldError[];
}

/** Returns the definition. Throws Error for a schema that cannot be compiled. */
export function schemaResource<T extends KubernetesObject>(
  kind: SchemaKind<T>,
): ResourceDefinition<UnstructuredObject> {
  const { group, version, plural, namespaced = true } = kind;
  const schema = structuralSchema(kind.schema);
  // The static type of the objects ends here, because the server handles all resources alike.
  const strategy = strategyOf(kind) as unknown as ResourceStrategy<UnstructuredObject>;
  return {
    group,
    version,
    kind: kind.kind,
    resource: plural,
    singular: kind.singular ?? kind.kind.toLowerCase(),
    listKind: `${kind.kind}List`,
    namespaced,
    shortNames: kind.shortNames ?? [],
    categories: kind.categories ?? [],
    verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
    storageVersionHash: createHash('sha256').update(`${group}/${version}/${kind.kind}`).digest('base64').slice(0, 12),
    storagePrefix: `/${group}/${plural}`,
    storageVersion: { group, version },
    schema,
    strategy: kind.hasStatus === true ? withoutStatus(strategy) : strategy,
    subresources: kind.hasStatus === true ? [statusOf(strategy)] : [],
    table: (kind.table as TableConvertor<UnstructuredObject> | undefined) ?? defaultTable,
    getAttributes: defaultAttributes(namespaced),
    selectableFields: [],
    isCustom: true,
    applyDefaults: (object) => applySchemaDefaults(schema, object),
  };
}

function strategyOf<T extends KubernetesObject>({ schema, validate }: SchemaKind<T>): ResourceStrategy<T> {
  const byRules = validate ?? (() => []);
  const bySchema = compileValidator(schema);
  return {
    ...defaultStrategy,
    prepareForCreate: startGeneration,
    validateCreate: (object) => [...bySchema(object, ''), ...byRules(object, undefined)],
    prepareForUpdate: bumpGenerationOnSpecChange,
    validateUpdate: (next, old) => [...bySchema(next, '', old), ...byRules(next, old)],
  };
}

function statusOf(strategy: ResourceStrategy<UnstructuredObject>): Subresource<UnstructuredObject> {
  const rules = { ...strategy, prepareForUpdate: () => undefined };
  return {
    type: 'strategy',
    name: 'status',
    verbs: ['get', 'patch', 'update'],
    strategy: statusStrategy(rules, { keeps: 'all' }),
  };
}
