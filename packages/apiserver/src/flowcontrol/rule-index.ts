// RuleIndex decides whether any rule of a list matches a request. Its cost does not grow with the number of rules for other resources, nor
// with the length of their lists. Made by flow-classifier.ts. Source: util/flowcontrol/rule.go.
import type { FlowTarget, PathFlowRule, ResourceFlowRule } from './flow-schema.ts';

/** Undefined = all values. */
type Values = ReadonlySet<string> | undefined;

interface ResourceMatch {
  readonly verbs: Values;
  readonly groups: Values;
  readonly namespaces: Values;
  readonly clusterScope: boolean;
}

type ResourceTarget = Extract<FlowTarget, { type: 'resource' }>;
type PathTarget = Extract<FlowTarget, { type: 'path' }>;

export class RuleIndex {
  readonly #byResource = new Map<string, ResourceMatch[]>();
  readonly #anyResource: ResourceMatch[] = [];
  readonly #byPath = new Map<string, Values[]>();
  readonly #anyPath: Values[] = [];
  #longestPath = 0;

  addResourceRule({ verbs, groups, resources, namespaces, clusterScope }: ResourceFlowRule): void {
    const match: ResourceMatch = {
      verbs: valuesOf(verbs),
      groups: valuesOf(groups),
      namespaces: valuesOf(namespaces),
      clusterScope,
    };
    if (isAll(resources)) this.#anyResource.push(match);
    else for (const resource of new Set(resources)) entryOf(this.#byResource, resource).push(match);
  }

  addPathRule({ verbs, paths }: PathFlowRule): void {
    const match = valuesOf(verbs);
    for (const path of new Set(paths)) {
      if (path === '*') this.#anyPath.push(match);
      // "/a", "/a/" and "/a/*" match the same paths below them; only "/a" also matches itself without a slash.
      else this.#addPath(path.endsWith('*') ? path.slice(0, -1).replace(/\/?$/, '/') : path, match);
    }
  }

  #addPath(path: string, verbs: Values): void {
    entryOf(this.#byPath, path).push(verbs);
    this.#longestPath = Math.max(this.#longestPath, path.length);
  }

  matches(target: FlowTarget): boolean {
    return target.type === 'path' ? this.#matchesPath(target) : this.#matchesResource(target);
  }

  /** Resources named by the rules; undefined when some rule is for all. */
  get resources(): Iterable<string> | undefined {
    return this.#anyResource.length > 0 ? undefined : this.#byResource.keys();
  }

  get resourceCount(): number {
    return this.#byResource.size;
  }

  get hasResourceRules(): boolean {
    return this.#anyResource.length > 0 || this.#byResource.size > 0;
  }

  get hasPathRules(): boolean {
    return this.#anyPath.length > 0 || this.#byPath.size > 0;
  }

  #matchesResource(target: ResourceTarget): boolean {
    const named = this.#byResource.get(resourceKey(target));
    return (named !== undefined && someMatches(named, target)) || someMatches(this.#anyResource, target);
  }

  #matchesPath({ verb, path }: PathTarget): boolean {
    if (this.#anyPath.some((verbs) => covers(verbs, verb))) return true;
    if (this.#byPath.size === 0) return false;
    if (this.#coversPath(path, verb)) return true;
    // A rule for "/a" or "/a/" matches "/a/b": each start of the path that ends at a slash is looked up, not each rule.
    for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
      // The length of paths is the clients' choice.
      if (slash > this.#longestPath) return false;
      if (this.#coversPath(path.slice(0, slash), verb) || this.#coversPath(path.slice(0, slash + 1), verb)) return true;
    }
    return false;
  }

  #coversPath(path: string, verb: string): boolean {
    return path.length <= this.#longestPath && this.#byPath.get(path)?.some((verbs) => covers(verbs, verb)) === true;
  }
}

/** Returns the name by which rules know a resource or a subresource. */
export function resourceKey({ resource, subresource }: ResourceTarget): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}

function someMatches(matches: readonly ResourceMatch[], { verb, group, namespace }: ResourceTarget): boolean {
  for (const { verbs, groups, namespaces, clusterScope } of matches) {
    if (!covers(verbs, verb) || !covers(groups, group)) continue;
    if (namespace === '' ? clusterScope : covers(namespaces, namespace)) return true;
  }
  return false;
}

function covers(values: Values, value: string): boolean {
  return values === undefined || values.has(value);
}

function valuesOf(list: readonly string[]): Values {
  return isAll(list) ? undefined : new Set(list);
}

/** A star among other values is not a wildcard; validation refuses such lists. */
function isAll(list: readonly string[]): boolean {
  return list.length === 1 && list[0] === '*';
}

function entryOf<V>(map: Map<string, V[]>, key: string): V[] {
  const known = map.get(key);
  if (known !== undefined) return known;
  const entry: V[] = [];
  map.set(key, entry);
  return entry;
}
