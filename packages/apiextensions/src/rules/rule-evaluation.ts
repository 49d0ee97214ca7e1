// RuleEvaluation runs the rules of a schema on an object and its old state. All share one budget; evaluation ends with
// the first rule that exceeds it, or its own limit. Source: apiextensions pkg/apiserver/schema/cel Validator.Validate.
import { type FieldError, forbiddenField, formatFieldError, invalidField, requiredField } from '@kapstan/api/errors';
import {
  getOwn,
  isJsonObject,
  maxToldErrors,
  namesInSlices,
  omittedErrors,
  type SlicedWork,
} from '@kapstan/api/internal';
import { KeyedItems } from '@kapstan/apiserver/internal';
import { CelOptional, type Evaluation, type VariableSource } from '@kapstan/cel';
import type { Correlation } from './correlation.ts';
import type { RuleCompilation, RuleProgram } from './rule-compilation.ts';
import { evaluateMessage, messageOf } from './rule-message.ts';
import type { CompiledRules, RuleValidator } from './rule-validator.ts';

/** Maximum cost of all rules of an object together. */
export const objectBudget = 10_000_000;

const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run';
const limitExceeded = 'operation cancelled: actual cost limit exceeded';

/** Work between two pauses, in cost units; visiting a value adds a few of them. */
const workPerSlice = 5_000;
const workPerValue = 20;

interface Place {
  /** "" is the object itself. */
  readonly path: string;
  readonly value: unknown;
  /** Undefined when there was no old value, or it cannot be matched. */
  readonly old: unknown;
  readonly correlation: Correlation;
}

export interface EvaluatedRules {
  /** Limited: the first errors, and how many more there are. */
  readonly errors: readonly FieldError[];
  /** Texts of errors that are ignored because their place has not changed. */
  readonly warnings: readonly string[];
  /** The rest of the budget; negative when rules were left out. */
  readonly budget: number;
}

export interface EvaluationOptions {
  /** Maximum cost of all rules together. Default 10 000 000. */
  readonly budget?: number;
  /**
   * Runs an expression in one go, which is faster, or with pauses, so that it never blocks the event loop. Default 'slices'.
   */
  readonly pace?: Pace;
}

export type Pace = 'atOnce' | 'slices';

/** Evaluates all rules for an object. `path` is "" for the object itself. */
export function* evaluateRules(
  validator: RuleValidator,
  place: Place,
  { budget = objectBudget, pace = 'slices' }: EvaluationOptions = {},
): SlicedWork<EvaluatedRules> {
  const evaluation = new RuleEvaluation(budget, pace);
  yield* evaluation.visit(validator, place);
  return evaluation.outcome();
}

class RuleEvaluation {
  readonly #errors: FieldError[] = [];
  readonly #warnings: string[] = [];
  #omitted = 0;
  #budget: number;
  readonly #pace: Pace;
  #work = 0;

  constructor(budget: number, pace: Pace) {
    this.#budget = budget;
    this.#pace = pace;
  }

  outcome(): EvaluatedRules {
    const errors = this.#omitted === 0 ? this.#errors : [...this.#errors, omittedErrors(this.#omitted)];
    return { errors, warnings: this.#warnings, budget: this.#budget };
  }

  /** Null values have no rules; the rules of the surrounding value decide whether null is allowed. */
  *visit(validator: RuleValidator, place: Place): SlicedWork<void> {
    if (place.value === null || place.value === undefined) return;
    if (validator.rules.length > 0) yield* this.#evaluate(validator, place);
    if (this.#budget < 0) return;
    const { value } = place;
    if (Array.isArray(value)) {
      if (validator.items !== undefined) yield* this.#visitItems(validator, place, value);
    } else if (isJsonObject(value)) {
      if (validator.values !== undefined) yield* this.#visitValues(validator.values, place, value);
      if (validator.properties.size > 0 && this.#budget >= 0) yield* this.#visitProperties(validator, place, value);
    }
  }

  *#visitItems(
    validator: RuleValidator,
    { path, old, correlation }: Place,
    list: readonly unknown[],
  ): SlicedWork<void> {
    const { items } = validator;
    if (items === undefined) return;
    const before = Array.isArray(old)
      ? new KeyedItems(validator.schema as Readonly<Record<string, unknown>>, old)
      : undefined;
    for (const [index, value] of list.entries()) {
      if (this.#isTimeToPause(workPerValue)) yield;
      const inner = correlation.index(index);
      yield* this.visit(items, { path: `${path}[${index}]`, value, old: before?.find(value), correlation: inner });
      if (this.#budget < 0) return;
    }
  }

  *#visitValues(values: RuleValidator, place: Place, map: Members): SlicedWork<void> {
    for (const name of yield* namesInSlices(map)) {
      if (this.#isTimeToPause(workPerValue)) yield;
      yield* this.visit(values, memberOf(place, name, { path: `${place.path}[${name}]`, value: map[name] }));
      if (this.#budget < 0) return;
    }
  }

  *#visitProperties({ properties }: RuleValidator, place: Place, object: Members): SlicedWork<void> {
    for (const [name, property] of properties) {
      if (!Object.hasOwn(object, name)) continue;
      const path = place.path === '' ? name : `${place.path}.${name}`;
      yield* this.visit(property, memberOf(place, name, { path, value: object[name] }));
      if (this.#budget < 0) return;
    }
  }

  *#evaluate(validator: RuleValidator, place: Place): SlicedWork<void> {
    const compiled = yield* validator.compiled();
    const at = new RulePlace(validator, place);
    if (compiled.error !== undefined) {
      return this.#add(at.typeError(`rule compiler initialization error: ${compiled.error}`));
    }
    if (this.#budget <= 0) return this.#end(at.typeError(outOfBudget));
    const variables = variablesOf(validator, place, compiled);
    for (const rule of compiled.rules) {
      yield* this.#evaluateRule(rule, at, variables);
      if (this.#budget < 0) return;
    }
  }

  *#evaluateRule(compilation: RuleCompilation, at: RulePlace, variables: RuleVariables): SlicedWork<void> {
    const { rule, program, error, usesOldSelf } = compilation;
    if (error !== undefined) return this.#add(at.typeError(`rule compile error: ${error}`));
    if (program === undefined) return;
    const isOptional = rule.optionalOldSelf === true;
    if (usesOldSelf && !variables.hasOld && !isOptional) return;
    if (this.#isTimeToPause(0)) yield;
    const outcome = yield* this.#run(program, isOptional ? variables.optional : variables.plain);
    if (!this.#pay(outcome.cost)) return this.#end(at.typeError(outOfBudget));
    if (outcome.error !== undefined) return this.#fail(compilation, at, outcome.error);
    if (outcome.value !== true) yield* this.#refuse(compilation, at, variables);
  }

  #fail({ rule }: RuleCompilation, at: RulePlace, error: string): void {
    const name = messageOf(rule.message) ?? rule.rule.trim();
    if (error.startsWith(limitExceeded)) {
      return this.#end(
        at.typeError(
          `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${name}`,
        ),
      );
    }
    const detail = error.startsWith('no such overload')
      ? `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${name}`
      : `${error} evaluating rule: ${name}`;
    this.#add(at.typeError(detail));
  }

  /** The rule is false. Another expression may produce its message, and may itself fail or cost too much. */
  *#refuse(compilation: RuleCompilation, at: RulePlace, variables: RuleVariables): SlicedWork<void> {
    const { rule, message, fieldPath } = compilation;
    const isForgiven = (): boolean => !compilation.usesOldSelf && at.place.correlation.isUnchanged;
    let detail = messageOf(rule.message) ?? `failed rule: ${rule.rule.trim()}`;
    if (message !== undefined) {
      const outcome = yield* this.#run(message, variables.plain);
      const evaluated = this.#messageOf(outcome, rule.messageExpression ?? '');
      if (evaluated.end !== undefined) {
        this.#tell(at.typeError(evaluated.end, fieldPath), isForgiven);
        this.#budget = -1;
        return;
      }
      detail = evaluated.text ?? detail;
    }
    this.#tell(at.ruleError(compilation, detail), isForgiven);
  }

  /** Returns the text of a message; no text when there is nothing to show, and `end` when no further rule may run. */
  #messageOf(outcome: Evaluation, expression: string): { readonly text?: string | undefined; readonly end?: string } {
    if (outcome.cost > this.#budget) {
      return {
        end: 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
      };
    }
    if (outcome.error?.startsWith(limitExceeded)) {
      const shown = JSON.stringify(expression);
      return {
        end: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${shown}`,
      };
    }
    this.#pay(outcome.cost);
    return { text: evaluateMessage(outcome) };
  }

  *#run({ program }: RuleProgram, variables: VariableSource): SlicedWork<Evaluation> {
    if (this.#pace === 'atOnce') return program.evaluate(variables);
    return yield* program.evaluateInSlices(variables);
  }

  #pay(cost: number): boolean {
    if (cost > this.#budget) return false;
    this.#budget -= cost;
    this.#work += cost;
    return true;
  }

  #isTimeToPause(work: number): boolean {
    this.#work += work;
    if (this.#work < workPerSlice) return false;
    this.#work = 0;
    return true;
  }

  #tell(error: FieldError, isForgiven: () => boolean): void {
    if (!isForgiven()) this.#add(error);
    else if (this.#warnings.length < maxToldErrors) this.#warnings.push(formatFieldError(error));
  }

  #add(error: FieldError): void {
    if (this.#errors.length < maxToldErrors) this.#errors.push(error);
    else this.#omitted += 1;
  }

  #end(error: FieldError): void {
    this.#add(error);
    this.#budget = -1;
  }
}

type Members = Readonly<Record<string, unknown>>;

function memberOf({ old, correlation }: Place, name: string, at: Pick<Place, 'path' | 'value'>): Place {
  return { ...at, old: isJsonObject(old) ? getOwn(old, name) : undefined, correlation: correlation.key(name) };
}

/** `self` and `oldSelf` of one place: as they are, and as optionals for rules that also apply to new values. */
interface RuleVariables {
  readonly hasOld: boolean;
  readonly plain: VariableSource;
  readonly optional: VariableSource;
}

function variablesOf(validator: RuleValidator, { value, old }: Place, { usesOldSelf }: CompiledRules): RuleVariables {
  const self = validator.toValue(value);
  const hasOld = old !== undefined && old !== null;
  // If no rule reads the old value, no message can either.
  if (!usesOldSelf) {
    const plain = source(self, undefined);
    return { hasOld, plain, optional: plain };
  }
  const oldSelf = hasOld ? validator.toValue(old) : undefined;
  const optional = source(self, hasOld ? CelOptional.of(oldSelf) : CelOptional.none);
  return { hasOld, plain: source(self, oldSelf), optional };
}

function source(self: unknown, oldSelf: unknown): VariableSource {
  return { find: (name) => (name === 'self' ? self : name === 'oldSelf' ? oldSelf : undefined) };
}

/** Makes the errors of the rules of a place. */
class RulePlace {
  readonly place: Place;
  readonly #type: string;

  constructor({ schema }: RuleValidator, place: Place) {
    this.place = place;
    this.#type = schema.type ?? '';
  }

  /** The error of a rule that could not be evaluated shows the type in place of the value. */
  typeError(detail: string, fieldPath = ''): FieldError {
    return invalidField(this.#field(fieldPath), this.#type, detail);
  }

  ruleError({ rule, fieldPath }: RuleCompilation, detail: string): FieldError {
    const field = this.#field(fieldPath);
    // Objects and lists are not shown.
    const isShown = this.#type !== 'object' && this.#type !== 'array';
    const shown = isShown ? { badValue: this.place.value } : {};
    switch (rule.reason) {
      case 'FieldValueForbidden':
        return forbiddenField(field, detail);
      case 'FieldValueRequired':
        return requiredField(field, detail);
      case 'FieldValueDuplicate':
        return { type: 'FieldValueDuplicate', field, ...shown, detail: '' };
      default:
        return { type: 'FieldValueInvalid', field, ...shown, detail };
    }
  }

  #field(fieldPath: string): string {
    const { path } = this.place;
    if (fieldPath === '') return path === '' ? '<nil>' : path;
    return path === '' ? fieldPath : `${path}.${fieldPath}`;
  }
}
