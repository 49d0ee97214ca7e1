// Field: one place in an object under validation. Validators take the place and what stands there, and report into it.
// Above: every strategy. Below: the texts of @kapstan/api's field errors.

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
import { maxToldErrors, omittedErrors } from '@kapstan/api/internal';

/** What a server allows its users. Source: pkg/capabilities. */
export interface ValidationPolicy {
  /** Privileged containers and processes of a Windows host. */
  readonly allowsPrivileged: boolean;
}

const defaultPolicy: ValidationPolicy = { allowsPrivileged: false };

/** The errors of a run: those that an answer tells, and the number of all. */
class FoundErrors {
  readonly #told: FieldError[] = [];
  count = 0;

  /** The error is made only when it is kept: a list of a client may have hundreds of thousands. */
  add(make: () => FieldError): void {
    this.count += 1;
    if (this.count <= maxToldErrors) this.#told.push(make());
  }

  toList(): FieldError[] {
    const omitted = this.count - this.#told.length;
    return omitted === 0 ? this.#told : [...this.#told, omittedErrors(omitted)];
  }
}

/** How a place is reached from the one above it. */
interface Step {
  readonly above: Field;
  readonly join: (path: string, name: string) => string;
  readonly name: string | number;
}

/**
 * A field's path and the list its errors go to. Cheap: children are made on the way down, and a path is written when somebody
 * asks for it, which is where an error is. Source: field.Path.
 */
export class Field {
  readonly policy: ValidationPolicy;
  readonly #errors: FoundErrors;
  readonly #step: Step | undefined;

  constructor(errors: FoundErrors, policy: ValidationPolicy = defaultPolicy, step?: Step) {
    this.policy = policy;
    this.#errors = errors;
    this.#step = step;
  }

  /** "" is the object itself. */
  get path(): string {
    return this.#step === undefined ? '' : this.#step.join(this.#step.above.path, String(this.#step.name));
  }

  /** `spec.ports`: names may hold several steps. */
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
    return new Field(this.#errors, this.policy, { above: this, join, name });
  }

  /** Calls back for every item, with its place. */
  each<T>(items: readonly T[] | undefined, validate: (item: T, at: Field, index: number) => void): void {
    items?.forEach((item, index) => {
      validate(item, this.index(index), index);
    });
  }

  /** Calls back for every value of a map, with its place, keys in order. */
  eachKey<T>(map: Readonly<Record<string, T>> | undefined, validate: (key: string, value: T, at: Field) => void): void {
    for (const [key, value] of Object.entries(map ?? {})) validate(key, value, this.key(key));
  }

  required(detail = ''): void {
    this.#errors.add(() => requiredField(this.path, detail));
  }

  invalid(value: unknown, detail: string): void {
    this.#errors.add(() => invalidField(this.path, value, detail));
  }

  /** One error per message: what the name and number checks return. */
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

  /** The server could not look at the value. */
  internal(detail: string): void {
    this.#errors.add(() => ({ type: 'InternalError', field: this.path, detail }));
  }

  tooLong(maxBytes: number): void {
    this.#errors.add(() => tooLongField(this.path, maxBytes));
  }

  tooMany(actual: number, max: number): void {
    this.#errors.add(() => tooManyField(this.path, actual, max));
  }

  /** The value must be one of these; `undefined` counts as "". */
  oneOf(value: string | undefined, supported: readonly string[]): void {
    if (!supported.includes(value ?? '')) this.notSupported(value ?? '', supported);
  }

  /** Source: ValidateNonnegativeField. Absent is fine. */
  nonNegative(value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(value, 'must be greater than or equal to 0');
  }

  /** Required, where "" counts as absent. True when there is one. */
  present(value: unknown): boolean {
    if (value !== undefined && value !== null && value !== '') return true;
    this.required();
    return false;
  }

  /** Source: ValidateImmutableField. */
  immutable(value: unknown, isUnchanged: boolean): void {
    if (!isUnchanged) this.invalid(value ?? null, 'field is immutable');
  }

  /** An error of a value that stands here, whose path begins at the value: "" or "<nil>" is the value itself. */
  below(error: FieldError): void {
    const isHere = error.field === '' || error.field === '<nil>';
    this.#errors.add(() => ({ ...error, field: isHere ? this.path : fieldChild(this.path, error.field) }));
  }

  /** The same errors so many times: those that are told, and the number of the others. */
  times(count: number, tell: (at: Field) => void): void {
    const told = Math.min(count, maxToldErrors);
    for (let time = 0; time < told; time++) tell(this);
    this.#errors.count += count - told;
  }

  /** Number of errors so far, anywhere in the object: to see whether a step added some. */
  get errorCount(): number {
    return this.#errors.count;
  }
}

/** Runs a validation from the root of an object ("" path) and returns what it found: of many errors the first, and how many more. */
export function collectFieldErrors(validate: (root: Field) => void, policy?: ValidationPolicy): FieldError[] {
  const errors = new FoundErrors();
  validate(new Field(errors, policy));
  return errors.toList();
}
