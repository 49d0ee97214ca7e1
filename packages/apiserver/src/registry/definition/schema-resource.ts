// SchemaResource makes the definition of a resource from a structural schema, as for custom resources. Programs that
// serve their own kinds use it.
import { createHash } from 'node:crypto';
import { type DeepReadonly, type KubernetesObject, parseJson, type UnstructuredObject } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import { isJsonObject, runWhole } from '@kapstan/api/internal';
import { defaultAttributes } from '@kapstan/storage';
import { applySchemaDefaults, schemaDefaultsInSlices } from '../../schema/defaulting.ts';
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
import type { DefinitionOrigin } from './definition-origin.ts';
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
   * are dropped. Rules are functions here, so `x-kubernetes-validations` is refused.
   */
  readonly schema: JsonSchema;
  /** True = the status has its own endpoint, and writes of the object do not change it. Default false. */
  readonly hasStatus?: boolean;
  /** Default: name and age. */
  readonly table?: TableConvertor<T>;
  /** Rules beyond the schema's, which the object satisfies. They run in one turn, however large the object is. */
  validate?(object: DeepReadonly<T>, old: DeepReadonly<T> | undefined): readonly FieldError[];
}

/** Returns the definition. Throws TypeError for a schema with `x-kubernetes-validations`, and Error for one that cannot be compiled. */
export function schemaResource<T extends KubernetesObject>(
  kind: SchemaKind<T>,
): ResourceDefinition<UnstructuredObject> {
  const { group, version, plural, namespaced = true } = kind;
  refuseRuleTexts(kind.schema, 'schema');
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
    subresources: kind.hasStatus === true ? [statusSubresource(strategy)] : [],
    table: (kind.table as TableConvertor<UnstructuredObject> | undefined) ?? defaultTable,
    getAttributes: defaultAttributes(namespaced),
    selectableFields: [],
    isCustom: true,
    origin: originOf(kind),
    applyDefaults: (object) => applySchemaDefaults(schema, object),
    applyDefaultsInSlices: function* (object) {
      yield* schemaDefaultsInSlices(schema, object);
    },
  };
}

/** Members of a kind on which the validation by its schema depends. They are plain data, unlike its columns and rules. */
type CheckedKind = Pick<SchemaKind, 'group' | 'version' | 'kind' | 'plural' | 'namespaced' | 'schema' | 'hasStatus'>;

function originOf<T extends KubernetesObject>(kind: SchemaKind<T>): DefinitionOrigin {
  const { group, version, plural, namespaced = true, schema, hasStatus = false } = kind;
  const parts: CheckedKind = { group, version, kind: kind.kind, plural, namespaced, schema, hasStatus };
  return { maker: 'schema', parts };
}

/** Returns the maker of these definitions in the thread that validates large objects. */
export function schemaMaker(): (parts: string) => ResourceDefinition {
  // Clients write several large objects of a kind, and a compiled schema is large too, so only the last one is kept.
  let last: { readonly parts: string; readonly definition: ResourceDefinition } | undefined;
  return (parts) => {
    if (last?.parts !== parts) last = { parts, definition: schemaResource(parseJson(parts) as unknown as CheckedKind) };
    return last.definition;
  };
}

/** A rule in the schema would be ignored, because this package does not evaluate the Common Expression Language in schemas. */
function refuseRuleTexts(schema: unknown, path: string): void {
  if (!isJsonObject(schema)) return;
  const word = 'x-kubernetes-validations';
  if (Object.hasOwn(schema, word))
    throw new TypeError(`${path}.${word}: a kind of the program has its rules in "validate"`);
  for (const name of ['items', 'additionalProperties', 'not']) refuseRuleTexts(schema[name], `${path}.${name}`);
  for (const name of ['allOf', 'anyOf', 'oneOf']) {
    const list = schema[name];
    if (Array.isArray(list)) list.forEach((item, index) => void refuseRuleTexts(item, `${path}.${name}[${index}]`));
  }
  const { properties } = schema;
  if (!isJsonObject(properties)) return;
  for (const name of Object.keys(properties)) refuseRuleTexts(properties[name], `${path}.properties.${name}`);
}

function strategyOf<T extends KubernetesObject>({ schema, validate }: SchemaKind<T>): ResourceStrategy<T> {
  const bySchema = compileValidator(schema);
  const check = (object: DeepReadonly<T>, old: DeepReadonly<T> | undefined): readonly FieldError[] => {
    const errors = bySchema(object, '', old);
    // The program's rules read the types that the schema ensures.
    return errors.length > 0 ? errors : (validate?.(object, old) ?? []);
  };
  return {
    ...defaultStrategy,
    prepareForCreate: startGeneration,
    validateCreate: (object) => check(object, undefined),
    prepareForUpdate: (next, old) => runWhole(bumpGenerationOnSpecChange(next, old)),
    prepareForUpdateInSlices: bumpGenerationOnSpecChange,
    validateUpdate: check,
    rulesOfProgram: validate,
  };
}

function statusSubresource(strategy: ResourceStrategy<UnstructuredObject>): Subresource<UnstructuredObject> {
  return {
    type: 'strategy',
    name: 'status',
    verbs: ['get', 'patch', 'update'],
    strategy: statusStrategy(strategy, { keeps: 'all' }),
  };
}
