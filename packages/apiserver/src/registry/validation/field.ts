// Field: one place in an object under validation. Validators take the place and what stands there, and report into it.
// Above: every strategy. Below: the texts of @kapstan/api's field errors.
import {
  duplicateField,
  type FieldError,
  fieldChild,
  fieldIndex,
  fieldKey,
  forbiddenField,
  invalidField,
  notFoundField,
  notSupportedField,
  requiredField,
  tooLongField,
  tooManyField,
} from '@kapstan/api';

/** What a server allows its users. Source: pkg/capabilities. */
export interface ValidationPolicy {
  /** Privileged containers and processes of a Windows host. */
  readonly allowsPrivileged: boolean;
}

const defaultPolicy: ValidationPolicy = { allowsPrivileged: false };

/** A field's path and the list its errors go to. Cheap; children are made on the way down. Source: field.Path. */
export class Field {
  readonly path: string;
  readonly policy: ValidationPolicy;
  readonly #errors: FieldError[];

  constructor(path: string, errors: FieldError[], policy: ValidationPolicy = defaultPolicy) {
    this.path = path;
    this.policy = policy;
    this.#errors = errors;
  }

  /** `spec.ports`: names may hold several steps. */
  child(...names: readonly string[]): Field {
    return this.#at(names.reduce(fieldChild, this.path));
  }

  index(index: number): Field {
    return this.#at(fieldIndex(this.path, index));
  }

  key(key: string): Field {
    return this.#at(fieldKey(this.path, key));
  }

  #at(path: string): Field {
    return new Field(path, this.#errors, this.policy);
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
    this.#errors.push(requiredField(this.path, detail));
  }

  invalid(value: unknown, detail: string): void {
    this.#errors.push(invalidField(this.path, value, detail));
  }

  /** One error per message: what the name and number checks return. */
  invalidAll(value: unknown, messages: readonly string[]): void {
    for (const message of messages) this.invalid(value, message);
  }

  notSupported(value: unknown, supported: readonly string[]): void {
    this.#errors.push(notSupportedField(this.path, value, supported));
  }

  forbidden(detail: string): void {
    this.#errors.push(forbiddenField(this.path, detail));
  }

  duplicate(value: unknown, detail = ''): void {
    this.#errors.push({ ...duplicateField(this.path, value), detail });
  }

  notFound(value: unknown, detail = ''): void {
    this.#errors.push({ ...notFoundField(this.path, value), detail });
  }

  /** The server could not look at the value. */
  internal(detail: string): void {
    this.#errors.push({ type: 'InternalError', field: this.path, detail });
  }

  tooLong(maxBytes: number): void {
    this.#errors.push(tooLongField(this.path, maxBytes));
  }

  tooMany(actual: number, max: number): void {
    this.#errors.push(tooManyField(this.path, actual, max));
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
    this.#errors.push({ ...error, field: isHere ? this.path : fieldChild(this.path, error.field) });
  }

  /** Number of errors so far, anywhere in the object: to see whether a step added some. */
  get errorCount(): number {
    return this.#errors.length;
  }
}

/** Runs a validation from the root of an object ("" path) and returns what it found. */
export function collectFieldErrors(validate: (root: Field) => void, policy?: ValidationPolicy): FieldError[] {
  const errors: FieldError[] = [];
  validate(new Field('', errors, policy));
  return errors;
}
