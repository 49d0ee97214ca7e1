// RecordedRules replays a schema with rules and objects, for which the results of the real libraries are recorded (fixtures/rules). It
// makes a definition from the schema, and objects pass through the steps of a write: defaults, pruning, strategy.
import { type DeepReadonly, ExactNumber, type UnstructuredObject } from '@kapstan/api';
import { type FieldError, formatFieldError } from '@kapstan/api/errors';
import { runWhole } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import type { ResourceDefinition } from '@kapstan/apiserver';
import { collectFieldErrors, findingsOf, pruneUnknownFields } from '@kapstan/apiserver/internal';
import { testContext } from '@kapstan/apiserver/testing';
import type { CustomResourceDefinitionVersion } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { builtinFacts } from '@kapstan/kubernetes';
import { definitionResource, definitionsId } from '../definition/definition-resource.ts';
import { customResource } from '../resource/custom-resource.ts';
import { evaluateObjectRules } from '../resource/rule-errors.ts';
import { noneKnown } from '../rules/rule-compilation.ts';
import { objectBudget } from '../rules/rule-evaluation.ts';
import type { RuleSchema } from '../rules/rule-schema.ts';
import { type RuleEstimates, validateRules } from '../rules/rule-validation.ts';
import { RuleValidator } from '../rules/rule-validator.ts';
import { widgets } from './definition-fixture.ts';

interface RecordedObject {
  readonly metadata?: object;
}

interface RecordedUpdate {
  readonly object: RecordedObject;
  readonly oldObject?: RecordedObject;
}

export interface RecordedRulesQuestion {
  readonly schema: RuleSchema;
  readonly evaluations?: readonly RecordedUpdate[];
}

interface RecordedError {
  readonly type: string;
  readonly field: string;
  readonly detail?: string;
  readonly text: string;
}

interface RecordedEstimate {
  readonly path: string;
  readonly rule: number;
  readonly cost: string;
  readonly cardinality: string;
  readonly total: string;
  readonly messageCost?: string;
  readonly usesOldSelf?: true;
}

interface RecordedEvaluation {
  readonly errors: readonly RecordedError[];
  readonly warnings?: readonly string[];
  /** "exceeded" when rules were left out because of their cost. */
  readonly cost: string;
}

export interface RecordedRulesAnswer {
  readonly crdErrors: readonly RecordedError[];
  readonly static: readonly RecordedEstimate[];
  readonly staticTotal: string;
  readonly evaluations?: readonly RecordedEvaluation[];
}

let definitions: ResourceDefinition | undefined;

/** Returns this package's answer to a question, in the form of the facts. */
export function answerRules({ schema, evaluations = [] }: RecordedRulesQuestion): RecordedRulesAnswer {
  const definition = widgets({
    version: { schema: { openAPIV3Schema: schema } } as unknown as CustomResourceDefinitionVersion,
  });
  const object = definition as unknown as UnstructuredObject;
  definitions ??= definitionResource({ clock: new VirtualClock(), facts: builtinFacts(definitionsId) });
  definitions.applyDefaults(object);
  definitions.strategy.prepareForCreate(object, testContext());
  const errors = recordedErrors(definitions.strategy.validateCreate(object, testContext()));
  const estimates = estimatesOf(schema);
  const answer = {
    crdErrors: errors,
    static: estimates.rules.map(recordedEstimate),
    staticTotal: String(estimates.total),
  };
  if (errors.length > 0) return answer;
  const [version] = definition.spec.versions;
  if (version === undefined) throw new TypeError('a definition without versions');
  const { names } = definition.spec;
  const resource = customResource({ definition, version, names, isTerminating: () => false });
  return { ...answer, evaluations: evaluations.map((update) => evaluated(resource, schema, update)) };
}

function estimatesOf(schema: RuleSchema): RuleEstimates {
  let estimates: RuleEstimates = { rules: [], total: 0n };
  collectFieldErrors((root) => {
    const options = { faulty: new Set<RuleSchema>(), known: noneKnown, isUnchanged: false };
    root.later(function* () {
      estimates = yield* validateRules(root, schema, options);
    });
  });
  return estimates;
}

function recordedEstimate(estimate: RuleEstimates['rules'][number]): RecordedEstimate {
  const { path, index, cost, cardinality, total, messageCost, usesOldSelf } = estimate;
  return {
    path: path === '' ? '' : `.${path}`,
    rule: index,
    cost: String(cost),
    cardinality: String(cardinality),
    total: String(total),
    ...(messageCost !== undefined && { messageCost: String(messageCost) }),
    ...(usesOldSelf && { usesOldSelf }),
  };
}

function evaluated(
  definition: ResourceDefinition,
  schema: RuleSchema,
  { object, oldObject }: RecordedUpdate,
): RecordedEvaluation {
  const [next, old] = [object, oldObject].map((given) => given && written(definition, given)) as [
    UnstructuredObject,
    UnstructuredObject | undefined,
  ];
  const context = testContext();
  const { strategy } = definition;
  const { errors } = findingsOf({ definition, strategy, context, object: next, old });
  const { warnings } = context;
  const rules = RuleValidator.of(schema, true);
  const left =
    rules === undefined
      ? objectBudget
      : runWhole(evaluateObjectRules(rules, { object: next, old, pace: 'atOnce' })).budget;
  return {
    errors: recordedErrors(errors),
    ...(warnings.length > 0 && { warnings }),
    cost: left < 0 ? 'exceeded' : String(objectBudget - left),
  };
}

/** Returns the object as it is validated. */
function written(definition: ResourceDefinition, given: RecordedObject): DeepReadonly<UnstructuredObject> {
  const object = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    ...(exactNumbers(given) as RecordedObject),
    metadata: { name: 'w', namespace: 'default', resourceVersion: '1', uid: 'u', ...given.metadata },
  } as UnstructuredObject;
  definition.applyDefaults(object);
  pruneUnknownFields(object, definition.schema);
  return object;
}

/** Returns a copy as the server reads it: whole numbers that a double cannot hold keep their digits. */
function exactNumbers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(exactNumbers);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, exactNumbers(member)]));
  }
  const isLarge = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isLarge ? new ExactNumber(String(BigInt(value))) : value;
}

function recordedErrors(errors: readonly FieldError[]): readonly RecordedError[] {
  const recorded = errors.map((error) => ({
    type: error.type,
    field: error.field === '' ? '<nil>' : error.field,
    detail: withoutTypeNumber(error.detail),
    text: withoutTypeNumber(formatFieldError(error)),
  }));
  return recorded.sort((a, b) => (a.field < b.field ? -1 : a.field > b.field ? 1 : 0));
}

/** Removes the number in the name of the root's type, because it differs each time. */
function withoutTypeNumber(text: string): string {
  return text.replace(/selfType\d+/g, 'selfType0');
}
