// Field: one place in an object under validation. Validators get the place with its value and report errors to it.
// Every strategy uses it. The texts come from @kapstan/api's field errors.

import {
  duplicateField,
  type FieldError,
  fieldChild,
  fieldKey,
  forbiddenField,
  invalidField,
  notFoundField,
  notSupportedField,
  requiredField,
  tooLongField,
  tooManyField,
} from '@kapstan/api/errors';
import { maxToldErrors, omittedErrors, runWhole, type SlicedWork } from '@kapstan/api/internal';

/** Capabilities that a server grants its users. Source: pkg/capabilities. */
export interface ServerCapabilities {
  /** True = privileged containers and Windows host processes are allowed. */
  readonly allowsPrivileged: boolean;
}

const defaultCapabilities: ServerCapabilities = { allowsPrivileged: false };

/** The errors of one validation: the errors that the answer shows, and the number of all. */
class FoundErrors {
  readonly #told: FieldError[] = [];
  /** Slow rules, in the order in which they were postponed. */
  readonly later: (() => SlicedWork<void>)[] = [];
  count = 0;

  /** Makes the error only if it is kept: a client's list may have hundreds of thousands. */
  add(make: () => FieldError): void {
    this.count += 1;
    if (this.count <= maxToldErrors) this.#told.push(make());
  }

  toList(): FieldError[] {
    const omitted = this.count - this.#told.length;
    return omitted === 0 ? this.#told : [...this.#told, omittedErrors(omitted)];
  }
}

/** The step from a parent place to this one. */
interface Step {
  readonly above: Field;
  readonly join: (path: string, name: string) => string;
  readonly name: string | number;
}

/**
 * A field's path and the list for its errors. It is cheap: children are made on the way down, and the path becomes text
 * only when there is an error. Source: field.Path.
 */
export class Field {
  readonly capabilities: ServerCapabilities;
  readonly #errors: FoundErrors;
  readonly #step: Step | undefined;

  constructor(errors: FoundErrors, capabilities: ServerCapabilities = defaultCapabilities, step?: Step) {
    this.capabilities = capabilities;
    this.#errors = errors;
    this.#step = step;
  }

  /** The path as text; "" is the object itself. */
  get path(): string {
    return this.#step === undefined ? '' : this.#step.join(this.#step.above.path, String(this.#step.name));
  }

  /** Returns the place of a member. Several names are several steps, as in `spec.ports`. */
  child(...names: readonly string[]): Field {
    let field: Field = this;
    for (const name of names) field = field.#at(fieldChild, name);
    return field;
  }

  index(index: number): Field {
    return this.#at(fieldKey, index);
  }

  key(key: string): Field {
    return this.#at(fieldKey, key);
  }

  #at(join: Step['join'], name: string | number): Field {
    return new Field(this.#errors, this.capabilities, { above: this, join, name });
  }

  /** Calls back for every item with its place. */
  each<T>(items: readonly T[] | undefined, validate: (item: T, at: Field, index: number) => void): void {
    items?.forEach((item, index) => {
      validate(item, this.index(index), index);
    });
  }

  /** Calls back for every value of a map with its place, in key order. */
  eachKey<T>(map: Readonly<Record<string, T>> | undefined, validate: (key: string, value: T, at: Field) => void): void {
    for (const [key, value] of Object.entries(map ?? {})) validate(key, value, this.key(key));
  }

  required(detail = ''): void {
    this.#errors.add(() => requiredField(this.path, detail));
  }

  invalid(value: unknown, detail: string): void {
    this.#errors.add(() => invalidField(this.path, value, detail));
  }

  /** Reports one error per message, as name and number checks return them. */
  invalidAll(value: unknown, messages: readonly string[]): void {
    for (const message of messages) this.invalid(value, message);
  }

  notSupported(value: unknown, supported: readonly string[]): void {
    this.#errors.add(() => notSupportedField(this.path, value, supported));
  }

  forbidden(detail: string): void {
    this.#errors.add(() => forbiddenField(this.path, detail));
  }

  duplicate(value: unknown, detail = ''): void {
    this.#errors.add(() => ({ ...duplicateField(this.path, value), detail }));
  }

  notFound(value: unknown, detail = ''): void {
    this.#errors.add(() => ({ ...notFoundField(this.path, value), detail }));
  }

  /** Reports that the server could not check the value. */
  internal(detail: string): void {
    this.#errors.add(() => ({ type: 'InternalError', field: this.path, detail }));
  }

  tooLong(maxBytes: number): void {
    this.#errors.add(() => tooLongField(this.path, maxBytes));
  }

  tooMany(actual: number, max: number): void {
    this.#errors.add(() => tooManyField(this.path, actual, max));
  }

  /** Requires one of these values; `undefined` counts as "". */
  oneOf(value: string | undefined, supported: readonly string[]): void {
    if (!supported.includes(value ?? '')) this.notSupported(value ?? '', supported);
  }

  /** Requires a number of at least 0; absent is valid. Source: ValidateNonnegativeField. */
  nonNegative(value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(value, 'must be greater than or equal to 0');
  }

  /** Requires a value, where "" counts as absent. Returns true when there is one. */
  present(value: unknown): boolean {
    if (value !== undefined && value !== null && value !== '') return true;
    this.required();
    return false;
  }

  /** Requires an unchanged value. Source: ValidateImmutableField. */
  immutable(value: unknown, isUnchanged: boolean): void {
    if (!isUnchanged) this.invalid(value ?? null, 'field is immutable');
  }

  /** Adds an error found in this value; its path starts at the value: "" or "<nil>" is the value itself. */
  below(error: FieldError): void {
    const isHere = error.field === '' || error.field === '<nil>';
    this.#errors.add(() => ({ ...error, field: isHere ? this.path : fieldChild(this.path, error.field) }));
  }

  /** Reports an error whose path starts at the object. */
  tell(error: FieldError): void {
    this.#errors.add(() => error);
  }

  /** Reports the same errors `count` times: as many as the answer shows, and the number of the others. */
  times(count: number, tell: (at: Field) => void): void {
    const told = Math.min(count, maxToldErrors);
    for (let time = 0; time < told; time++) tell(this);
    this.#errors.count += count - told;
  }

  /** Postpones slow rules until all others have run. They may run in slices, and report errors like the others. */
  later(rules: () => SlicedWork<void>): void {
    this.#errors.later.push(rules);
  }

  /** Number of errors so far in the whole object, which shows whether a step added some. */
  get errorCount(): number {
    return this.#errors.count;
  }
}

/** Validates an object from its root ("" path) and returns the first errors and the number of further ones. */
export function collectFieldErrors(validate: (root: Field) => void, capabilities?: ServerCapabilities): FieldError[] {
  return runWhole(collectFieldErrorsInSlices(validate, capabilities));
}

/** Does what {@link collectFieldErrors} does, with pauses in the postponed rules ({@link Field.later}). */
export function* collectFieldErrorsInSlices(
  validate: (root: Field) => void,
  capabilities?: ServerCapabilities,
): SlicedWork<FieldError[]> {
  const errors = new FoundErrors();
  validate(new Field(errors, capabilities));
  for (const rules of errors.later) yield* rules();
  return errors.toList();
}
