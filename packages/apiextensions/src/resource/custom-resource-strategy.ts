// The strategies of a custom resource and of its /status, which apply its definition to every write. Source:
// apiextensions registry/customresource strategy.go, status_strategy.go, validator.go.

import type { DeepReadonly, GroupResource, UnstructuredObject } from '@kapstan/api';
import { type FieldError, forbidden } from '@kapstan/api/errors';
import { runWhole, type SlicedWork } from '@kapstan/api/internal';
import type { ResourceStrategy } from '@kapstan/apiserver';
import type { JsonSchema, SchemaNode, ValueValidator } from '@kapstan/apiserver/internal';
import {
  compileValidator,
  defaultStrategy,
  jsonEqualInSlices,
  metaOf,
  startGeneration,
  statusStrategy,
  withoutStatus,
} from '@kapstan/apiserver/internal';
import { type ScalePaths, scaleErrors } from './custom-resource-scale.ts';
import { embeddedResourceErrors } from './embedded-resources.ts';

/** What the strategies need to know about one version of a kind. */
export interface CustomKind {
  readonly resource: GroupResource;
  /** Name of the served version. */
  readonly version: string;
  readonly jsonSchema: JsonSchema;
  readonly schema: SchemaNode;
  /** True when the status has an endpoint of its own. */
  readonly hasStatus: boolean;
  readonly scale: ScalePaths | undefined;
  /** Returns true when the definition is being deleted, so that no objects may be created. Called at each create. */
  isTerminating(): boolean;
}

type Custom = DeepReadonly<UnstructuredObject>;

export function customResourceStrategy(kind: CustomKind): ResourceStrategy<UnstructuredObject> {
  const validate = objectValidator(kind);
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
    validateCreate: (object) => validate(object, undefined),
    prepareForUpdate: (next, old) => runWhole(bumpGenerationOnChange(next, old)),
    prepareForUpdateInSlices: bumpGenerationOnChange,
    validateUpdate: (next, old) => validate(next, old),
  };
  return kind.hasStatus ? withoutStatus(strategy) : strategy;
}

export function customStatusStrategy(kind: CustomKind): ResourceStrategy<UnstructuredObject> {
  const validate = objectValidator(kind);
  return {
    ...statusStrategy({ ...defaultStrategy, validateUpdate: (next, old) => validate(next, old) }, { keeps: 'all' }),
    resetFields: [['metadata'], ['spec']],
  };
}

/** Every change except of metadata counts; a status with an endpoint of its own does not change here. */
function* bumpGenerationOnChange(next: UnstructuredObject, old: Custom): SlicedWork<void> {
  const { metadata: _nextMeta, ...nextContent } = next;
  const { metadata: oldMeta, ...oldContent } = old;
  if (!(yield* jsonEqualInSlices(nextContent, oldContent))) metaOf(next).generation = (oldMeta?.generation ?? 0) + 1;
}

/** The validator is compiled at the first write, because most servers only read most kinds. */
function objectValidator(kind: CustomKind): (object: Custom, old: Custom | undefined) => readonly FieldError[] {
  let compiled: ValueValidator | undefined;
  return (object, old) => {
    compiled ??= compileValidator(kind.jsonSchema);
    return [
      ...valueErrors(compiled, object, old),
      ...(kind.scale === undefined
        ? []
        : [...scaleErrors(kind.scale, object, '.spec.'), ...scaleErrors(kind.scale, object, '.status.')]),
      ...embeddedResourceErrors(object, kind.schema),
    ];
  };
}

/** Lists with repeated items may keep them. Source: customResourceStrategy.ValidateUpdate. */
function valueErrors(validate: ValueValidator, object: Custom, old: Custom | undefined): readonly FieldError[] {
  const errors = validate(object, '', old);
  if (old === undefined || !errors.some(isDuplicate) || !validate(old, '').some(isDuplicate)) return errors;
  return errors.filter((error) => !isDuplicate(error));
}

function isDuplicate(error: FieldError): boolean {
  return error.type === 'FieldValueDuplicate';
}
