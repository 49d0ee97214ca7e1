// UsedRights compares the rights of controllers with their requests, to find missing and unused rights.

import type { Resource } from '@kapstan/api';
import type { Controller, Right } from '@kapstan/controller';
import type { ResourceAccess } from './access-record.ts';

/** Requests that were refused on one resource, as the line that declares them. */
export interface MissingRight {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly subresource: string;
  readonly verbs: readonly string[];
  /** The only objects that were requested. Undefined = many, or verbs that a rule cannot limit to names. */
  readonly only: { readonly names: readonly string[]; readonly namespace: string } | undefined;
  /** "in namespace default" or "at the cluster scope". */
  readonly where: readonly string[];
}

/** The refusals for one resource: names by namespace, by verb. */
interface Refused {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly subresource: string;
  readonly verbs: Map<string, Map<string, Set<string>>>;
}

/**
 * Verbs that no rule limits to names, or for which such a rule would not help, because a list is requested without a
 * name.
 */
const nameless: readonly string[] = ['create', 'list', 'watch', 'deletecollection'];
/** Maximum number of objects that a line names, and of namespaces with lines; more form a pattern rather than a list. */
const maxNames = 5;
const maxNamespaces = 3;

const reading: readonly string[] = ['get', 'list', 'watch'];

export class UsedRights {
  readonly #rights: readonly Right[];
  readonly #used = new Set<string>();
  readonly #missing = new Map<string, Refused>();

  constructor(rights: readonly Right[]) {
    this.#rights = rights;
  }

  use(access: ResourceAccess): void {
    for (const right of this.#rights)
      for (const verb of right.verbs) if (isFor(right, verb, access)) this.#used.add(keyOf(right, verb));
  }

  refuse({ group, version, resource: plural, subresource, verb, namespace, name }: ResourceAccess): void {
    const key = JSON.stringify([group, plural, subresource]);
    const refused = this.#missing.get(key) ?? { group, version, plural, subresource, verbs: new Map() };
    this.#missing.set(key, refused);
    const places = refused.verbs.get(verb) ?? new Map<string, Set<string>>();
    refused.verbs.set(verb, places);
    const names = places.get(namespace) ?? new Set<string>();
    places.set(namespace, names);
    // One more than a line names shows that there are too many.
    if (names.size <= maxNames) names.add(name);
  }

  get missing(): readonly MissingRight[] {
    return [...this.#missing.values()].flatMap(missingOf);
  }

  /** One line for each resource: "configmaps: delete (echo needs it)". */
  get unused(): readonly string[] {
    return this.#rights.flatMap((right) => {
      const verbs = right.verbs.filter((verb) => !this.#isUsed(right, verb));
      const group = right.group === '' ? '' : `.${right.group}`;
      const [plural, subresource] = right.resource.split('/');
      const place = right.namespace === undefined ? '' : ` in ${right.namespace}`;
      const name = `${plural}${group}${subresource === undefined ? '' : `/${subresource}`}`;
      return verbs.length === 0 ? [] : [`${name}${place}: ${verbs.join(', ')} (${right.why})`];
    });
  }

  #isUsed(right: Right, verb: string): boolean {
    // Only an admission plug-in needs it, which is off unless a cluster turns it on.
    if (right.resource.endsWith('/finalizers')) return true;
    if (this.#used.has(keyOf(right, verb))) return true;
    // Each of these shows whole objects, and which of them an informer uses depends on the server.
    return reading.includes(verb) && reading.some((other) => this.#used.has(keyOf(right, other)));
  }
}

/** Returns the minimum declarations: one for verbs on all objects, and one for each set of few names. */
function missingOf({ verbs, ...resource }: Refused): readonly MissingRight[] {
  const lines = new Map<string, { readonly only: MissingRight['only']; verbs: Set<string>; where: Set<string> }>();
  for (const [verb, places] of verbs)
    for (const [namespace, names] of places) {
      const isFew =
        names.size <= maxNames && places.size <= maxNamespaces && !names.has('') && !nameless.includes(verb);
      const only = isFew ? { names: [...names].sort(), namespace } : undefined;
      const key = JSON.stringify(only);
      const line = lines.get(key) ?? { only, verbs: new Set(), where: new Set() };
      line.verbs.add(verb);
      line.where.add(namespace === '' ? 'at the cluster scope' : `in the namespace ${namespace}`);
      lines.set(key, line);
    }
  return [...lines.values()].map((line) => ({ ...resource, ...line, verbs: [...line.verbs], where: [...line.where] }));
}

function isFor(right: Right, verb: string, access: ResourceAccess): boolean {
  const resource = access.subresource === '' ? access.resource : `${access.resource}/${access.subresource}`;
  if (verb !== access.verb || right.group !== access.group || right.resource !== resource) return false;
  if (right.namespace !== undefined && right.namespace !== access.namespace) return false;
  return right.names?.includes(access.name) !== false;
}

const keyOf = ({ group, resource, names, namespace, why }: Right, verb: string): string =>
  JSON.stringify([group, resource, names, namespace, why, verb]);

/** Returns the kinds that controllers name, by group and plural. */
export function namedKinds(controllers: readonly Controller[]): ReadonlyMap<string, string> {
  const resources = controllers.flatMap(({ resource, sources, indexes, needs }): Resource[] => [
    resource,
    ...sources.flatMap((source) => (source.type === 'trigger' ? [] : [source.resource])),
    ...indexes.map((index) => index.resource),
    ...needs.map((need) => need.resource),
  ]);
  return new Map(resources.map(({ group, plural, kind }) => [`${plural}.${group}`, kind]));
}

/** Returns the lines that declare the missing rights. `kinds` are by group and plural. */
export function missingLines(missing: readonly MissingRight[], kinds: ReadonlyMap<string, string>): readonly string[] {
  return missing.map(({ group, plural, subresource, verbs, only, where }) => {
    const kind = kinds.get(`${plural}.${group}`) ?? plural;
    const options = [
      ...(subresource === '' ? [] : [`subresource: ${quoted(subresource)}`]),
      ...(only === undefined ? [] : [`names: [${only.names.map(quoted).join(', ')}]`]),
      ...(only === undefined || only.namespace === '' ? [] : [`namespace: ${quoted(only.namespace)}`]),
    ];
    const last = options.length === 0 ? '' : `, { ${options.join(', ')} }`;
    const hint = hintOf({ kind, verbs, subresource, only });
    return `.needs(${kind}, [${verbs.map(quoted).join(', ')}]${last}) // refused ${where.join(', ')}${hint}`;
  });
}

type HintParts = Pick<MissingRight, 'verbs' | 'subresource' | 'only'> & { readonly kind: string };

/** Says where another declaration may be the right one. */
function hintOf({ kind, verbs, subresource, only }: HintParts): string {
  const isApply = verbs.includes('patch') && subresource === '';
  const apply = isApply ? `; .owns(${kind}) if it comes from ctx.apply` : '';
  return only === undefined ? apply : `${apply}; leave out names that vary`;
}

const quoted = (text: string): string => `'${JSON.stringify(text).slice(1, -1).replaceAll("'", "\\'")}'`;
