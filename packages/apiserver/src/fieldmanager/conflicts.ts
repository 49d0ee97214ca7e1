// What an apply may not take over: fields of other managers that it would change. Source: apimachinery
// util/managedfields/internal/conflict.go.
import { type StatusCause, StatusError } from '@kapstan/api';
import type { FieldSet } from './field-set.ts';
import type { ManagedSet } from './managed-fields.ts';
import { formatPath } from './path-element.ts';

/** Fields of one owner that would change. */
export interface Conflict {
  readonly owner: ManagedSet;
  readonly fields: FieldSet;
}

/** By the id of the manager who owns them. */
export type Conflicts = ReadonlyMap<string, Conflict>;

/** The 409 that names every conflict. */
export function conflictError(conflicts: Conflicts): StatusError {
  const managers = [...conflicts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { owner, fields }]) => ({
      name: describeManager(owner),
      paths: fields.paths().map(formatPath),
    }));
  const causes: StatusCause[] = managers.flatMap(({ name, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${name}`, field })),
  );
  return new StatusError({
    code: 409,
    reason: 'Conflict',
    message: conflictText(managers, causes),
    details: { causes },
  });
}

interface ManagerConflicts {
  readonly name: string;
  readonly paths: readonly string[];
}

function conflictText(managers: readonly ManagerConflicts[], causes: readonly StatusCause[]): string {
  const [only] = causes;
  if (only !== undefined && causes.length === 1) return `Apply failed with 1 conflict: ${only.message}: ${only.field}`;
  const lines = managers.flatMap(({ name, paths }) => [`conflicts with ${name}:`, ...paths.map((path) => `- ${path}`)]);
  return `Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`;
}

function describeManager({ manager, operation, apiVersion, subresource }: ManagedSet): string {
  const name = JSON.stringify(manager);
  const where = subresource === '' ? name : `${name} with subresource ${JSON.stringify(subresource)}`;
  return operation === 'Update' ? `${where} using ${apiVersion}` : where;
}
