// ReviewConditions: the expressions that select the requests for an authorization webhook. They see the request as a
// review of access. Source: apiserver pkg/authorization/cel.

import { aggregateTexts } from '@kapstan/api/errors';
import type { SlicedWork } from '@kapstan/api/internal';
import {
  CelCompileError,
  CelProgramError,
  type CompiledExpression,
  compileInSlices,
  type Environment,
  type Evaluation,
  isExactType,
  storedExpressions,
  structType,
  type TypeProvider,
  typeOf,
} from '@kapstan/cel';
import type { MaybePromise } from '../registry/definition/first-decision.ts';
import type { ReviewSpec } from './access-review.ts';

/** The reason why a text is not a condition, in kube-apiserver's words. */
export class ConditionFault {
  readonly detail: string;
  /** True = the text is a valid expression, but no program can be made of it. */
  readonly isInternal: boolean;

  constructor(detail: string, isInternal: boolean) {
    this.detail = detail;
    this.isInternal = isInternal;
  }
}

type Fields = Readonly<Record<string, string>>;

const selector: Fields = { rawSelector: 'string', requirements: 'list(kubernetes.SelectorRequirement)' };

/** Source: buildRequestType. */
const structs: Readonly<Record<string, Fields>> = {
  SubjectAccessReviewSpec: {
    resourceAttributes: 'kubernetes.ResourceAttributes',
    nonResourceAttributes: 'kubernetes.NonResourceAttributes',
    user: 'string',
    groups: 'list(string)',
    extra: 'map(string, list(string))',
    uid: 'string',
  },
  ResourceAttributes: {
    namespace: 'string',
    verb: 'string',
    group: 'string',
    version: 'string',
    resource: 'string',
    subresource: 'string',
    name: 'string',
    fieldSelector: 'kubernetes.FieldSelectorAttributes',
    labelSelector: 'kubernetes.LabelSelectorAttributes',
  },
  NonResourceAttributes: { path: 'string', verb: 'string' },
  FieldSelectorAttributes: selector,
  LabelSelectorAttributes: selector,
  SelectorRequirement: { key: 'string', operator: 'string', values: 'list(string)' },
};

let environment: Environment | undefined;

/** Returns the environment, which is made when the first condition is compiled, because most servers have none. */
function conditionEnvironment(): Environment {
  environment ??= storedExpressions().extend({
    variables: new Map([['request', structType('kubernetes.SubjectAccessReviewSpec')]]),
    provider: typesOfReviews(),
  });
  return environment;
}

function typesOfReviews(): TypeProvider {
  const types = new Map(
    Object.entries(structs).map(([name, fields]) => [
      `kubernetes.${name}`,
      new Map(Object.entries(fields).map(([field, type]) => [field, typeNamed(type)])),
    ]),
  );
  return {
    hasStruct: (name) => types.has(name),
    fieldType: (name, field) => types.get(name)?.get(field),
  };
}

function typeNamed(text: string): ReturnType<typeof typeOf> {
  return text.startsWith('kubernetes.') ? structType(text) : typeOf(text);
}

const bool = typeOf('bool');

export function* compileCondition(text: string): SlicedWork<CompiledExpression | ConditionFault> {
  try {
    const compiled = yield* compileInSlices(text, { environment: conditionEnvironment() });
    if (!isExactType(bool, compiled.type) || compiled.type.isNullable)
      return new ConditionFault(`must evaluate to bool but got ${compiled.type}`, false);
    yield;
    // Constants without a value are found when the program is made.
    void compiled.program;
    return compiled;
  } catch (error) {
    if (error instanceof CelCompileError) return new ConditionFault(`compilation failed: ${error.message}`, false);
    if (error instanceof CelProgramError)
      return new ConditionFault(`program instantiation failed: ${error.message}`, true);
    throw error;
  }
}

/** `error`: nothing is known; the failure policy decides. */
export type ConditionResult = 'matches' | 'differs' | { readonly error: Error };

/** The conditions (`matchConditions`) under which an authorizing webhook is asked. */
export class ReviewConditions {
  readonly #conditions: readonly CompiledExpression[];

  constructor(conditions: readonly CompiledExpression[]) {
    this.#conditions = conditions;
  }

  /**
   * Returns whether all conditions hold. The first false one ends the evaluation; errors count if none is false.
   * Usually returns without a promise.
   */
  match(spec: ReviewSpec): MaybePromise<ConditionResult> {
    const variables = { request: describeReview(spec) };
    const errors: string[] = [];
    for (const [index, condition] of this.#conditions.entries()) {
      const work = condition.evaluateInSlices(variables);
      const step = work.next();
      // A long condition continues in later turns, together with those after it.
      if (step.done !== true) return this.#matchInTurns(index, { variables, errors });
      if (isDecisive(condition, step.value, errors)) return 'differs';
    }
    return resultOf(errors);
  }

  async #matchInTurns(
    first: number,
    { variables, errors }: { readonly variables: { readonly request: unknown }; readonly errors: string[] },
  ): Promise<ConditionResult> {
    for (const condition of this.#conditions.slice(first)) {
      if (isDecisive(condition, await condition.evaluateInTurns(variables), errors)) return 'differs';
    }
    return resultOf(errors);
  }
}

/** Returns true when the condition is false; collects its error. */
function isDecisive({ text }: CompiledExpression, { value, error }: Evaluation, errors: string[]): boolean {
  if (error === undefined) return value === false;
  errors.push(`cel evaluation error: expression '${text}' resulted in error: ${error}`);
  return false;
}

function resultOf(errors: readonly string[]): ConditionResult {
  return errors.length === 0 ? 'matches' : { error: new Error(aggregateTexts(errors)) };
}

/** All texts are present, even empty ones, so that conditions need no `has`. Source: convertObjectToUnstructured. */
function describeReview({ resourceAttributes, nonResourceAttributes, ...who }: ReviewSpec): object {
  const { user = '', groups = [], uid = '', extra = {} } = who;
  const review: Record<string, unknown> = { user, groups, uid, extra };
  if (resourceAttributes !== undefined) review.resourceAttributes = describeResource(resourceAttributes);
  if (nonResourceAttributes !== undefined)
    review.nonResourceAttributes = { path: '', verb: '', ...nonResourceAttributes };
  return review;
}

function describeResource(attributes: NonNullable<ReviewSpec['resourceAttributes']>): object {
  const { fieldSelector, labelSelector, ...texts } = attributes;
  const resource: Record<string, unknown> = {};
  for (const name of resourceTexts) resource[name] = texts[name] ?? '';
  if (fieldSelector !== undefined) resource.fieldSelector = describeSelector(fieldSelector);
  if (labelSelector !== undefined) resource.labelSelector = describeSelector(labelSelector);
  return resource;
}

const resourceTexts = ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'] as const;

type Selector = NonNullable<NonNullable<ReviewSpec['resourceAttributes']>['fieldSelector']>;

function describeSelector({ requirements }: Selector): object {
  return {
    requirements: requirements.map(({ key, operator, values = [] }) => ({ key, operator, values })),
  };
}
