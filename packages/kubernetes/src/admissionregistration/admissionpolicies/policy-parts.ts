// The expressions of admission policies: variables, validations, mutations, audit annotations. Each is compiled in its own slice. Source:
// pkg/apis/admissionregistration/validation.
import type { DeepReadonly } from '@kapstan/api';
import { qualifiedNameErrors } from '@kapstan/api/errors';
import { CompileFault, type ExpressionPurpose, type Field, PolicyExpressions } from '@kapstan/apiserver/internal';
import type {
  AuditAnnotation,
  MatchCondition,
  MutatingAdmissionPolicySpec,
  Mutation,
  ParamKind,
  ValidatingAdmissionPolicySpec,
  Validation,
  Variable,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { tellFault } from '../../validation/expression-fault.ts';
import { repetitions } from '../../validation/repetition.ts';
import { requestExpressions } from '../request-expressions.ts';
import { validateMatchConditions } from '../rule-defaults.ts';

/** The common parts of both kinds of policies. */
interface CommonSpec {
  readonly paramKind?: ParamKind;
  readonly variables?: readonly Variable[];
  readonly matchConditions?: readonly MatchCondition[];
  readonly failurePolicy?: string | null;
}

export function validateFailurePolicy(at: Field, { failurePolicy }: DeepReadonly<CommonSpec>): void {
  if (failurePolicy == null) at.required();
  else at.oneOf(failurePolicy, ['Fail', 'Ignore']);
}

/**
 * Unchanged conditions are not checked again, because an older server may have accepted some that this one would
 * refuse.
 */
export function validateConditionsOf(
  at: Field,
  spec: DeepReadonly<CommonSpec>,
  old: DeepReadonly<CommonSpec> | undefined,
): void {
  const { matchConditions = [], paramKind } = spec;
  if (old !== undefined && conditionsText(old) === conditionsText(spec)) return;
  const stored = new Set((old?.matchConditions ?? []).map(({ expression }) => expression));
  validateMatchConditions(at, matchConditions, { stored, hasParams: paramKind !== undefined });
}

function conditionsText({ paramKind, matchConditions = [] }: DeepReadonly<CommonSpec>): string {
  return JSON.stringify([paramKind, matchConditions]);
}

/** Expressions of the stored object, which remain accepted, by their place. */
type StoredExpressions = Partial<Record<ExpressionPurpose, ReadonlySet<string | undefined>>>;

/** Compiles the expressions of one policy in the order in which they are given. */
class ExpressionChecks {
  readonly #expressions: PolicyExpressions;
  readonly #stored: StoredExpressions;

  constructor(expressions: PolicyExpressions, stored: StoredExpressions) {
    this.#expressions = expressions;
    this.#stored = stored;
  }

  variable(at: Field, { name = '', expression }: DeepReadonly<Variable>): void {
    const [expressions, age] = [this.#expressions, this.#ageOf('validation', expression)];
    at.later(function* () {
      const compiled = yield* expressions.variable(name, expression, age);
      if (compiled instanceof CompileFault) tellFault(at, expression, compiled);
      yield;
    });
  }

  /** `given`: the original text, by which stored expressions are recognised. */
  check(
    at: Field,
    purpose: ExpressionPurpose,
    { text, given }: { readonly text: string; readonly given: string },
  ): void {
    const [expressions, age] = [this.#expressions, this.#ageOf(purpose, given)];
    // Kubernetes shows a patch without the space around it, and an annotation with it.
    const shown = purpose === 'annotation' ? given : text;
    at.later(function* () {
      const compiled = yield* expressions.compile(purpose, text, age);
      if (compiled instanceof CompileFault) tellFault(at, shown, compiled);
      yield;
    });
  }

  #ageOf(purpose: ExpressionPurpose, given: string): 'stored' | 'new' {
    return this.#stored[purpose]?.has(given) === true ? 'stored' : 'new';
  }
}

const maxAnnotations = 20;

export function validateValidations(
  at: Field,
  spec: DeepReadonly<ValidatingAdmissionPolicySpec>,
  { name, old }: { readonly name: string; readonly old: DeepReadonly<ValidatingAdmissionPolicySpec> | undefined },
): void {
  const { variables = [], validations = [], auditAnnotations = [], paramKind } = spec;
  const expressions = new PolicyExpressions(requestExpressions, {
    hasParams: paramKind !== undefined,
    hasVariables: variables.length > 0,
  });
  const checks = new ExpressionChecks(expressions, {
    validation: new Set(old?.validations?.map(({ expression }) => expression)),
    message: new Set(old?.validations?.map(({ messageExpression }) => messageExpression)),
    annotation: new Set(old?.auditAnnotations?.map(({ valueExpression }) => valueExpression)),
  });
  validateVariables(at.child('variables'), variables, checks);
  if (validations.length + auditAnnotations.length === 0) {
    const text = 'validations or auditAnnotations must contain at least one item';
    at.child('validations').required(text);
    return at.child('auditAnnotations').required(text);
  }
  at.child('validations').each(validations, (validation, place) => validateValidation(place, validation, checks));
  const place = at.child('auditAnnotations');
  if (auditAnnotations.length > maxAnnotations)
    place.invalid(goForm(auditAnnotations), `must not have more than ${maxAnnotations} auditAnnotations`);
  const isRepeated = repetitions<string>();
  place.each(auditAnnotations, (annotation, item) => {
    validateAnnotation(item, annotation, { name, checks });
    if (isRepeated(annotation.key)) item.child('key').duplicate(annotation.key);
  });
}

/** Kubernetes shows the values in their internal form, whose members begin with capitals. */
function goForm(annotations: readonly DeepReadonly<AuditAnnotation>[]): unknown {
  return annotations.map(({ key, valueExpression }) => ({ Key: key, ValueExpression: valueExpression }));
}

const celReserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

function validateVariables(at: Field, variables: readonly DeepReadonly<Variable>[], checks: ExpressionChecks): void {
  at.each(variables, (variable, place) => {
    const { name = '', expression = '' } = variable;
    if (name.trim() === '') place.child('name').required('name is not specified');
    else if (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) || celReserved.has(name))
      place.child('name').invalid(name, 'must be a valid CEL identifier');
    if (expression.trim() === '') place.child('expression').required('expression is not specified');
    else checks.variable(place.child('expression'), variable);
  });
}

function validateValidation(at: Field, validation: DeepReadonly<Validation>, checks: ExpressionChecks): void {
  const { expression = '', message = '', messageExpression = '', reason } = validation;
  const blank = 'must be non-empty if specified';
  if (expression.trim() === '') at.child('expression').required('expression is not specified');
  else checks.check(at.child('expression'), 'validation', { text: expression, given: expression });
  const place = at.child('messageExpression');
  if (messageExpression.trim() !== '')
    checks.check(place, 'message', { text: messageExpression, given: messageExpression });
  else if (messageExpression !== '') place.invalid(messageExpression, blank);
  if (message !== '' && message.trim() === '') at.child('message').invalid(message, blank);
  if (/[\n\r]/.test(message.trim())) at.child('message').invalid(message, 'must not contain line breaks');
  if (reason !== undefined) at.child('reason').oneOf(reason, ['Forbidden', 'Invalid', 'RequestEntityTooLarge']);
}

const maxValueExpressionBytes = 5 * 1024;

function validateAnnotation(
  at: Field,
  { key = '', valueExpression = '' }: DeepReadonly<AuditAnnotation>,
  { name, checks }: { readonly name: string; readonly checks: ExpressionChecks },
): void {
  if (name === '') at.child('key').invalid(key, 'requires metadata.name be non-empty');
  else at.child('key').invalidAll(`${name}/${key}`, qualifiedNameErrors(`${name}/${key}`));
  const place = at.child('valueExpression');
  const text = valueExpression.trim();
  if (text === '') place.required('valueExpression is not specified');
  else if (Buffer.byteLength(text) > maxValueExpressionBytes)
    place.required(`must not exceed ${maxValueExpressionBytes} bytes in length`);
  else checks.check(place, 'annotation', { text, given: valueExpression });
}

export function validateMutations(
  at: Field,
  { variables = [], mutations = [], paramKind }: DeepReadonly<MutatingAdmissionPolicySpec>,
  old: DeepReadonly<MutatingAdmissionPolicySpec> | undefined,
): void {
  const expressions = new PolicyExpressions(requestExpressions, {
    hasParams: paramKind !== undefined,
    hasVariables: true,
  });
  // Kubernetes looks up both kinds of patches among the stored apply configurations.
  const applied = new Set(old?.mutations?.map(({ applyConfiguration }) => applyConfiguration?.expression));
  const checks = new ExpressionChecks(expressions, { applyConfiguration: applied, jsonPatch: applied });
  validateVariables(at.child('variables'), variables, checks);
  if (mutations.length === 0) at.child('mutations').required('mutations must contain at least one item');
  at.child('mutations').each(mutations, (mutation, place) => validateMutation(place, mutation, checks));
}

function validateMutation(at: Field, mutation: DeepReadonly<Mutation>, checks: ExpressionChecks): void {
  const { patchType } = mutation;
  if (!at.child('patchType').present(patchType)) return;
  if (patchType !== 'JSONPatch' && patchType !== 'ApplyConfiguration')
    return at.child('patchType').notSupported(patchType, ['ApplyConfiguration', 'JSONPatch']);
  const [wanted, other] =
    patchType === 'JSONPatch'
      ? (['jsonPatch', 'applyConfiguration'] as const)
      : (['applyConfiguration', 'jsonPatch'] as const);
  const patch = mutation[wanted];
  if (patch === undefined) at.child(wanted).required(`must be specified when patchType is ${patchType}`);
  else {
    const { expression: given = '' } = patch;
    const [place, text] = [at.child(wanted, 'expression'), given.trim()];
    if (text === '') place.required();
    else checks.check(place, wanted, { text, given });
  }
  if (mutation[other] !== undefined)
    at.child(other).invalid(`{${other}}`, `must not be specified when patchType is ${patchType}`);
}
