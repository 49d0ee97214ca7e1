// The strategies of a custom resource and of its /status, which apply its definition to every write. Source:
// apiextensions registry/customresource strategy.go, status_strategy.go, validator.go.

import type { DeepReadonly, GroupResource, UnstructuredObject } from '@kapstan/api';
import { type FieldError, forbidden } from '@kapstan/api/errors';
import { getOwn, isJsonObject, runWhole, type SlicedWork } from '@kapstan/api/internal';
import type { RequestContext, ResourceStrategy } from '@kapstan/apiserver';
import type { JsonSchema, SchemaNode, ValueValidator } from '@kapstan/apiserver/internal';
import {
  compileValidator,
  defaultStrategy,
  hasLostMembers,
  jsonEqualInSlices,
  metaOf,
  startGeneration,
  statusStrategy,
  validateObjectMeta,
  withoutStatus,
} from '@kapstan/apiserver/internal';
import type { RuleValidator } from '../rules/rule-validator.ts';
import { type ScalePaths, scaleErrors } from './custom-resource-scale.ts';
import { embeddedResourceErrors } from './embedded-resources.ts';
import { type CheckedObject, ruleErrors } from './rule-errors.ts';

/** Facts about one version of a kind that its strategies need. */
export interface CustomKind {
  readonly resource: GroupResource;
  /** Name of the served version. */
  readonly version: string;
  readonly isNamespaced: boolean;
  readonly jsonSchema: JsonSchema;
  /** Returns the rules of the schema; undefined when it has none. */
  rules(): RuleValidator | undefined;
  readonly schema: SchemaNode;
  /** True when the status has its own endpoint. */
  readonly hasStatus: boolean;
  readonly scale: ScalePaths | undefined;
  /** Returns true when the definition is being deleted, so that no objects may be created. Called at each create. */
  isTerminating(): boolean;
}

type Custom = DeepReadonly<UnstructuredObject>;

export function customResourceStrategy(kind: CustomKind): ResourceStrategy<UnstructuredObject> {
  const validate = objectValidator(kind, 'whole');
  const requireCreatable = ({ metadata }: Custom): void => {
    if (!kind.isTerminating()) return;
    const why = 'create not allowed while custom resource definition is terminating';
    throw forbidden(kind.resource, metadata?.name ?? '', why);
  };
  const strategy: ResourceStrategy<UnstructuredObject> = {
    ...defaultStrategy,
    requireCreatable,
    prepareForCreate: (object) => {
      requireCreatable(object);
      startGeneration(object);
    },

    prepareForUpdate: (next, old) => runWhole(bumpGenerationOnChange(next, old)),
    prepareForUpdateInSlices: bumpGenerationOnChange,
    ...validationOf(kind, validate),
    warningsOnCreate: (object) => finalizerWarnings(object, undefined),
    warningsOnUpdate: finalizerWarnings,
  };
  return kind.hasStatus ? withoutStatus(strategy) : strategy;
}

export function customStatusStrategy(kind: CustomKind): ResourceStrategy<UnstructuredObject> {
  const strategy = { ...defaultStrategy, ...validationOf(kind, objectValidator(kind, 'status')) };
  return {
    ...statusStrategy(strategy, { keeps: 'all' }),
    resetFields: [['metadata'], ['spec']],
  };
}

type ValidateObject = (object: Custom, old: Custom | undefined) => readonly FieldError[];

/** Checks the schema, then the rules, which may take seconds even for a small object. */
function validationOf(
  kind: CustomKind,
  validate: ValidateObject,
): Pick<
  ResourceStrategy<UnstructuredObject>,
  'validateCreate' | 'validateUpdate' | 'validateCreateInSlices' | 'validateUpdateInSlices'
> {
  const check = function* (write: CheckedWrite, { context, pace }: WriteContext): SlicedWork<readonly FieldError[]> {
    const errors = validate(write.object, write.old);
    const rules = kind.rules();
    if (rules === undefined) return errors;
    const blocking = write.old === undefined ? [...errors, ...metadataErrors(kind, write.object)] : errors;
    const found = yield* ruleErrors(rules, { ...write, errors: blocking, pace, warn: (text) => context.warn(text) });
    return found.length === 0 ? errors : [...errors, ...found];
  };
  const atOnce = (write: CheckedWrite, context: RequestContext): readonly FieldError[] =>
    runWhole(check(write, { context, pace: 'atOnce' }));
  const inSlices = (write: CheckedWrite, context: RequestContext): SlicedWork<readonly FieldError[]> =>
    check(write, { context, pace: 'slices' });
  return {
    validateCreate: (object, context) => atOnce({ object, old: undefined }, context),
    validateUpdate: (object, old, context) => atOnce({ object, old }, context),
    validateCreateInSlices: (object, context) => inSlices({ object, old: undefined }, context),
    validateUpdateInSlices: (object, old, context) => inSlices({ object, old }, context),
  };
}

/** Returns errors that the registry reports itself. They are needed here because some of them keep the rules from being checked. */
function metadataErrors({ isNamespaced }: CustomKind, { metadata = {} }: Custom): readonly FieldError[] {
  return validateObjectMeta(metadata, { namespaced: isNamespaced, finalizerNames: 'Qualified' });
}

type CheckedWrite = Pick<CheckedObject, 'object' | 'old'>;

interface WriteContext extends Pick<CheckedObject, 'pace'> {
  readonly context: RequestContext;
}

const standardFinalizers: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion', 'kubernetes']);

/** Warns of new finalizers without a domain. Source: customResourceStrategy generateWarningsFromObj. */
function finalizerWarnings(next: Custom, old: Custom | undefined): readonly string[] {
  const { finalizers } = next.metadata ?? {};
  if (finalizers === undefined) return [];
  const before = new Set([...standardFinalizers, ...(old?.metadata?.finalizers ?? [])]);
  const added = [...new Set(finalizers)].filter((name) => !before.has(name) && !name.includes('/'));
  return added.sort().map((name) => {
    const why = 'prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers';
    return `metadata.finalizers: ${JSON.stringify(name)}: ${why}`;
  });
}

/** Every change except of metadata counts; a status with its own endpoint does not change here. */
function* bumpGenerationOnChange(next: UnstructuredObject, old: Custom): SlicedWork<void> {
  const { metadata: _nextMeta, ...nextContent } = next;
  const { metadata: oldMeta, ...oldContent } = old;
  const isChanged = hasLostMembers(next) || !(yield* jsonEqualInSlices(nextContent, oldContent));
  if (isChanged) metaOf(next).generation = (oldMeta?.generation ?? 0) + 1;
}

/**
 * The validator is compiled at the first write, because most servers only read most kinds. A write to /status checks
 * the status alone. Source: customResourceValidator.ValidateUpdate, ValidateStatusUpdate.
 */
function objectValidator(kind: CustomKind, part: 'whole' | 'status'): ValidateObject {
  let compiled: ValueValidator | undefined;
  let compiledStatus: ValueValidator | undefined;
  return (object, old) => {
    compiled ??= compileValidator(kind.jsonSchema);
    if (part === 'whole') {
      return [
        ...withoutOldDuplicates(compiled(object, '', old), old, compiled),
        ...(kind.scale === undefined
          ? []
          : [...scaleErrors(kind.scale, object, '.spec.'), ...scaleErrors(kind.scale, object, '.status.')]),
        ...embeddedResourceErrors(object, kind.schema),
      ];
    }
    compiledStatus ??= compileValidator(statusSchema(kind.jsonSchema));
    const errors = compiledStatus(object.status, '', old?.status)
      .filter((error) => !isDuplicate(error))
      .map(inStatus);
    const duplicates = compiled(object, '').filter(isDuplicate);
    return [
      ...(object.status === undefined ? [] : errors),
      ...withoutOldDuplicates(duplicates, old, compiled),
      ...(kind.scale === undefined ? [] : scaleErrors(kind.scale, object, '.status.')),
    ];
  };
}

/** Messages name paths below the status; the `field` of each cause has the path from the object. */
function inStatus(error: FieldError): FieldError {
  const { field } = error;
  return { ...error, field: field === '' || field === '<nil>' ? 'status' : `status.${field}` };
}

/** Returns the schema of the status; without one every status is accepted. */
function statusSchema({ properties }: JsonSchema): JsonSchema {
  const status = isJsonObject(properties) ? getOwn(properties, 'status') : undefined;
  return isJsonObject(status) ? status : {};
}

/** Lists with repeated items may keep them. Source: customResourceStrategy.ValidateUpdate. */
function withoutOldDuplicates(
  errors: readonly FieldError[],
  old: Custom | undefined,
  validate: ValueValidator,
): readonly FieldError[] {
  if (old === undefined || !errors.some(isDuplicate) || !validate(old, '').some(isDuplicate)) return errors;
  return errors.filter((error) => !isDuplicate(error));
}

function isDuplicate(error: FieldError): boolean {
  return error.type === 'FieldValueDuplicate';
}
