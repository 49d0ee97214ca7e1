// Conflicts of an apply: fields of other managers that it would change. Source: apimachinery
// util/managedfields/internal/conflict.go.

import { StatusError } from '@kapstan/api';
import type { StatusCause } from '@kapstan/api/errors';
import { type SlicedWork, sortInSlices } from '@kapstan/api/internal';
import type { FieldSet } from './field-set.ts';
import type { ManagedSet } from './managed-fields.ts';
import { formatPath } from './path-element.ts';

/** The fields of one owner that would change. */
export interface Conflict {
  readonly owner: ManagedSet;
  readonly fields: FieldSet;
}

/** Conflicts by the id of the manager who owns the fields. */
export type Conflicts = ReadonlyMap<string, Conflict>;

/** Maximum number of conflicts that an answer names. The text gives the total number; each path can be long. */
const maxNamed = 1000;
/** Maximum number of characters of these paths together. */
const maxPathLength = 256 * 1024;

/** Returns the 409 that names the conflicts: the first thousand, or fewer if their paths are long. */
export function* conflictError(conflicts: Conflicts): SlicedWork<StatusError> {
  const listing = new ConflictListing();
  for (const [, conflict] of yield* sortInSlices([...conflicts], ([a], [b]) => (a < b ? -1 : 1))) {
    yield* listing.add(conflict);
  }
  return new StatusError({
    code: 409,
    reason: 'Conflict',
    message: listing.text(),
    details: { causes: listing.causes },
  });
}

class ConflictListing {
  readonly causes: StatusCause[] = [];
  readonly #lines: string[] = [];
  #count = 0;
  #pathLength = 0;

  *add({ owner, fields }: Conflict): SlicedWork<void> {
    const size = yield* fields.size();
    this.#count += size;
    if (!this.#hasRoom) return;
    const name = describeManager(owner);
    this.#lines.push(`conflicts with ${name}:`);
    for (const path of yield* fields.paths(maxNamed - this.causes.length)) {
      if (!this.#hasRoom) return;
      const field = formatPath(path);
      this.#pathLength += field.length;
      this.#lines.push(`- ${field}`);
      this.causes.push({ reason: 'FieldManagerConflict', message: `conflict with ${name}`, field });
    }
  }

  get #hasRoom(): boolean {
    return this.causes.length < maxNamed && this.#pathLength < maxPathLength;
  }

  text(): string {
    const [only] = this.causes;
    if (only !== undefined && this.#count === 1) return `Apply failed with 1 conflict: ${only.message}: ${only.field}`;
    const more = this.#count - this.causes.length;
    const lines = more === 0 ? this.#lines : [...this.#lines, `and ${more} more`];
    return `Apply failed with ${this.#count} conflicts: ${lines.join('\n')}`;
  }
}

function describeManager({ manager, operation, apiVersion, subresource }: ManagedSet): string {
  const name = JSON.stringify(manager);
  const where = subresource === '' ? name : `${name} with subresource ${JSON.stringify(subresource)}`;
  return operation === 'Update' ? `${where} using ${apiVersion}` : where;
}
