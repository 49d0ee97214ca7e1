// Collects the unreadable objects of a list into one error that names them all, if the store was configured to do so.
// Source: apiserver storage/etcd3/store.go (abortOnFirstError) and corrupt_obj_deleter.go
// (corruptObjErrAggregatorFactory).
import { type GroupResource, StatusError } from '@kapstan/api';
import type { StatusCause } from '@kapstan/api/errors';
import { formatGroupResource, messageOf } from '@kapstan/api/internal';
import { isStorageError } from './storage-error.ts';

const maxCorruptObjects = 100;

/** Gathers the `Corrupt` errors of one list. The result of {@link add} tells when to stop reading. */
export class CorruptObjects {
  readonly #resource: GroupResource;
  readonly #isNamed: boolean;
  readonly #causes: StatusCause[] = [];
  #firstMessage = '';
  #count = 0;

  /** When `isNamed` is false, the first error ends the list and is thrown unchanged. */
  constructor({ resource, isNamed }: { readonly resource: GroupResource; readonly isNamed: boolean }) {
    this.#resource = resource;
    this.#isNamed = isNamed;
  }

  /**
   * Returns true to read on, false when enough errors are known. Rethrows an error other than `Corrupt` while none is
   * known yet.
   */
  add(error: unknown): boolean {
    if (!this.#isNamed) throw error;
    const message = messageOf(error);
    if (!isStorageError(error, 'Corrupt')) {
      if (this.#count === 0) throw error;
      this.#note(message, { reason: 'UnexpectedServerResponse', message });
      return false;
    }
    this.#note(message, { reason: 'UnexpectedServerResponse', field: error.key, message });
    if (this.#count < maxCorruptObjects) return true;
    this.#causes.push({ reason: 'FieldValueTooMany', message: 'too many errors, the list is truncated' });
    return false;
  }

  /** Throws a 500 StorageReadError when any object was unreadable. */
  throwIfAny(): void {
    if (this.#count === 0) return;
    const { group } = this.#resource;
    const more = this.#count > 1 ? ` (and ${this.#count - 1} more)` : '';
    const what = formatGroupResource(this.#resource);
    throw new StatusError({
      code: 500,
      reason: 'StorageReadError',
      message: `failed to read one or more ${what} from the storage: ${this.#firstMessage}${more}`,
      details: {
        name: 'list',
        ...(group === '' ? {} : { group }),
        kind: this.#resource.resource,
        causes: this.#causes,
      },
    });
  }

  #note(message: string, cause: StatusCause): void {
    if (this.#count === 0) this.#firstMessage = message;
    this.#count++;
    this.#causes.push(cause);
  }
}
