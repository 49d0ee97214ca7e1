// Decides which requested names a definition is given: those that no other definition of its group holds. Source:
// apiextensions status.NamingConditionController.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import type { ResourceDefinition } from '@kapstan/apiserver';
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { hasValidCaBundle } from './conversion-validation.ts';
import { type DefinitionCondition, findCondition } from './definition-conditions.ts';

type Definition = DeepReadonly<CustomResourceDefinition>;

export interface NamesDecision {
  readonly acceptedNames: CustomResourceDefinitionNames;
  readonly namesAccepted: DefinitionCondition;
  /** True when the definition is to be served: it was served before, or now has all its names. */
  readonly established: DefinitionCondition;
}

/** The names of a kind that no definition made. */
export type FixedNames = Pick<ResourceDefinition, 'resource' | 'singular' | 'shortNames' | 'kind' | 'listKind'>;

/**
 * Decides for one definition; `others` are definitions, which may include it and those of other groups, and `fixed` the kinds of its group
 * that no definition may replace.
 */
export function decideNames(
  definition: Definition,
  others: Iterable<Definition>,
  fixed: readonly FixedNames[] = [],
): NamesDecision {
  const used = usedNames(definition, others, fixed);
  const asked = definition.spec.names;
  const present: DeepReadonly<Partial<CustomResourceDefinitionNames>> = definition.status?.acceptedNames ?? {};
  const accepted: CustomResourceDefinitionNames = { ...(deepCopy(present) as CustomResourceDefinitionNames) };
  let conflict: { readonly reason: string; readonly message: string } | undefined;

  for (const [key, reason, taken] of singleNames(used)) {
    const name = asked[key] ?? '';
    if (name !== (present[key] ?? '') && taken.has(name)) conflict = { reason, message: inUse(name) };
    else accepted[key] = name;
    if (key === 'singular') {
      const clashes = shortNameClashes(definition, used.resources);
      if (clashes.length === 0) setList(accepted, 'shortNames', asked.shortNames);
      else conflict = { reason: 'ShortNamesConflict', message: aggregate(clashes) };
    }
  }
  setList(accepted, 'categories', asked.categories);
  return { acceptedNames: accepted, ...conditions(definition, conflict) };
}

/**
 * Returns the definition as if nothing had been decided when a fixed kind has its plural: such a kind comes first, even if the definition
 * was established before the program served the kind.
 */
export function withoutFixedNames(definition: Definition, fixed: readonly FixedNames[]): Definition {
  const { spec, status } = definition;
  if (status === undefined || !fixed.some(({ resource }) => resource === spec.names.plural)) return definition;
  const { acceptedNames: _names, conditions: _conditions, ...rest } = status;
  return { ...definition, status: rest as NonNullable<Definition['status']> };
}

/**
 * True when a definition already has all the names that it requests. Its conditions are then left unchanged, even if
 * somebody removed them. Source: NamingConditionController.sync.
 */
export function hasAcceptedNames({ spec, status }: Definition): boolean {
  const accepted: DeepReadonly<Partial<CustomResourceDefinitionNames>> = status?.acceptedNames ?? {};
  const isSame = (['plural', 'singular', 'kind', 'listKind'] as const).every(
    (key) => (spec.names[key] ?? '') === (accepted[key] ?? ''),
  );
  return isSame && (['shortNames', 'categories'] as const).every((key) => hasSameItems(spec.names[key], accepted[key]));
}

function hasSameItems(list: readonly string[] = [], other: readonly string[] = []): boolean {
  return list.length === other.length && list.every((item, index) => item === other[index]);
}

interface UsedNames {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

function usedNames(definition: Definition, others: Iterable<Definition>, fixed: readonly FixedNames[]): UsedNames {
  const resources = new Set(fixed.flatMap(({ resource, singular, shortNames }) => [resource, singular, ...shortNames]));
  const kinds = new Set(fixed.flatMap(({ kind, listKind }) => [kind, listKind]));
  for (const other of others) {
    if (other.spec.group !== definition.spec.group || other.metadata?.name === definition.metadata?.name) continue;
    const names = other.status?.acceptedNames;
    for (const name of [names?.plural, names?.singular, ...(names?.shortNames ?? [])]) if (name) resources.add(name);
    for (const name of [names?.kind, names?.listKind]) if (name) kinds.add(name);
  }
  return { resources, kinds };
}

type SingleName = 'plural' | 'singular' | 'kind' | 'listKind';

/** Returns the single names in the order in which conflicts are looked for; the last conflict found is reported. */
function singleNames(used: UsedNames): readonly (readonly [SingleName, string, ReadonlySet<string>])[] {
  return [
    ['plural', 'PluralConflict', used.resources],
    ['singular', 'SingularConflict', used.resources],
    ['kind', 'KindConflict', used.kinds],
    ['listKind', 'ListKindConflict', used.kinds],
  ];
}

function shortNameClashes(definition: Definition, taken: ReadonlySet<string>): string[] {
  const own = new Set(definition.status?.acceptedNames?.shortNames);
  const names = definition.spec.names.shortNames ?? [];
  return names.filter((name) => !own.has(name) && taken.has(name)).map(inUse);
}

function setList(
  names: CustomResourceDefinitionNames,
  key: 'shortNames' | 'categories',
  values: readonly string[] | undefined,
): void {
  if (values === undefined || values.length === 0) delete names[key];
  else names[key] = [...values];
}

function conditions(
  definition: Definition,
  conflict: { readonly reason: string; readonly message: string } | undefined,
): Pick<NamesDecision, 'namesAccepted' | 'established'> {
  const namesAccepted: DefinitionCondition =
    conflict === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', ...conflict };
  const present = findCondition(definition, 'Established');
  if (present?.status === 'True') {
    const { reason = '', message = '' } = present;
    return { namesAccepted, established: { type: 'Established', status: 'True', reason, message } };
  }
  if (conflict !== undefined) return { namesAccepted, established: notEstablished };
  return { namesAccepted, established: hasValidCaBundle(definition) ? nowEstablished : invalidBundle };
}

/** A definition whose webhook could never be called is not served. Source: EstablishingController.sync. */
const invalidBundle: DefinitionCondition = {
  type: 'Established',
  status: 'False',
  reason: 'InvalidCABundle',
  message: 'The conversion webhook CABundle is invalid',
};

const nowEstablished: DefinitionCondition = {
  type: 'Established',
  status: 'True',
  reason: 'InitialNamesAccepted',
  message: 'the initial names have been accepted',
};

const notEstablished: DefinitionCondition = {
  type: 'Established',
  status: 'False',
  reason: 'NotAccepted',
  message: 'not all names are accepted',
};

function inUse(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

/** Source: utilerrors.Aggregate.Error. */
function aggregate(texts: readonly string[]): string {
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}
