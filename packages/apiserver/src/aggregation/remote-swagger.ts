// Reads another API server's OpenAPI v2 document: the paths of its group version and the definitions to which they
// refer. Documents of several servers may have different definitions of one name; the later one is renamed. Source:
// kube-openapi aggregator (FilterSpecByPaths, MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters).
import { isJsonObject, type SlicedWork } from '@kapstan/api/internal';

type Json = Readonly<Record<string, unknown>>;
type Entries = ReadonlyMap<string, Json>;

/** A part of an OpenAPI v2 document. */
export interface RemoteSwagger {
  readonly paths: Entries;
  readonly definitions: Entries;
  readonly parameters: Entries;
}

/** Nodes that one step walks. */
const stepNodes = 2000;
const reference = /^#\/(definitions|parameters)\/(.+)$/;

/** Returns the paths below `root` with the definitions to which they refer. Throws TypeError. */
export function* readRemoteSwagger(document: unknown, root: string): SlicedWork<RemoteSwagger> {
  if (!isJsonObject(document)) throw new TypeError('the schema document is not an object');
  const all = { definitions: entriesOf(document, 'definitions'), parameters: entriesOf(document, 'parameters') };
  const paths = new Map([...entriesOf(document, 'paths')].filter(([path]) => path.startsWith(`${root}/`)));
  const used = { definitions: new Map<string, Json>(), parameters: new Map<string, Json>() };
  const left: Json[] = [...paths.values()];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const ref of yield* refsIn(next)) {
      const [, kind = '', name = ''] = reference.exec(ref) ?? [];
      const target = kind === 'definitions' || kind === 'parameters' ? all[kind].get(name) : undefined;
      if (target === undefined || used[kind as keyof typeof used].has(name)) continue;
      used[kind as keyof typeof used].set(name, target);
      left.push(target);
    }
  }
  return { paths, ...used };
}

/**
 * Returns the part with its names changed where they mean something else in the parts of other servers; shared
 * definitions are left out.
 */
export function* withoutConflicts(part: RemoteSwagger, others: RemoteSwagger): SlicedWork<RemoteSwagger> {
  const definitions = yield* merged('definitions', part.definitions, others.definitions);
  const parameters = yield* merged('parameters', part.parameters, others.parameters);
  const renamed = new Map([...definitions.renamed, ...parameters.renamed]);
  const rewrite = function* (entries: Entries): SlicedWork<Entries> {
    if (renamed.size === 0) return entries;
    const result = new Map<string, Json>();
    for (const [name, value] of entries) {
      result.set(name, withRefs(value, renamed) as Json);
      yield;
    }
    return result;
  };
  const paths = new Map([...part.paths].filter(([path]) => !others.paths.has(path)));
  return {
    paths: yield* rewrite(paths),
    definitions: yield* rewrite(definitions.added),
    parameters: yield* rewrite(parameters.added),
  };
}

interface Merged {
  readonly added: Entries;
  /** New references by old ones. */
  readonly renamed: ReadonlyMap<string, string>;
}

function* merged(kind: string, own: Entries, others: Entries): SlicedWork<Merged> {
  const added = new Map<string, Json>();
  const renamed = new Map<string, string>();
  for (const [name, value] of own) {
    yield;
    let free = name;
    for (let count = 2; others.has(free) && !isSame(others.get(free), value); count++) free = `${name}_v${count}`;
    if (free !== name) renamed.set(`#/${kind}/${name}`, `#/${kind}/${free}`);
    if (!others.has(free)) added.set(free, value);
  }
  return { added, renamed };
}

/** Definitions for several group versions differ only in the versions that they list. */
function isSame(one: Json | undefined, other: Json): boolean {
  return canonical(one) === canonical(other);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) => {
    if (key === 'x-kubernetes-group-version-kind') return undefined;
    if (!isJsonObject(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function* refsIn(value: unknown): SlicedWork<readonly string[]> {
  const refs: string[] = [];
  const left: unknown[] = [value];
  let nodes = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    nodes += 1;
    if (nodes % stepNodes === 0) yield;
    if (typeof next !== 'object' || next === null) continue;
    if (isJsonObject(next) && typeof next.$ref === 'string') refs.push(next.$ref);
    for (const part of Object.values(next)) if (typeof part === 'object' && part !== null) left.push(part);
  }
  return refs;
}

function withRefs(value: unknown, renamed: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((part) => withRefs(part, renamed));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, part]) => {
    const target = name === '$ref' && typeof part === 'string' ? renamed.get(part) : undefined;
    return [name, target ?? withRefs(part, renamed)] as const;
  });
  return Object.fromEntries(entries);
}

function entriesOf(document: Json, name: string): Entries {
  const value = document[name] ?? {};
  if (!isJsonObject(value)) throw new TypeError(`${name} is not an object`);
  const entries = Object.entries(value);
  if (!entries.every(([, entry]) => isJsonObject(entry))) throw new TypeError(`a member of ${name} is not an object`);
  return new Map(entries as [string, Json][]);
}
