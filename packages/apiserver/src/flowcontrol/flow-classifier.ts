// FlowClassifier finds the first flow schema that matches a request. It is indexed by subject and resource, so that its cost follows the
// schemas that may concern a request and not all that there are. Used by flow-control.ts. Source: apf_controller.go startRequest, rule.go.
import type { SlicedWork } from '@kapstan/api/internal';
import type { UserInfo } from '../registry/definition/request-context.ts';
import type { FlowRule, FlowSchema, FlowSubject, FlowTarget } from './flow-schema.ts';
import { RuleIndex, resourceKey } from './rule-index.ts';

/** A rule, and the place of its schema in the order of precedence. */
interface Candidate {
  readonly order: number;
  readonly rules: RuleIndex;
}

/** Candidates of one subject, each list in rising order. */
interface SubjectIndex {
  readonly byResource: Map<string, Candidate[]>;
  readonly anyResource: Candidate[];
  readonly paths: Candidate[];
}

/**
 * Maximum number of resources under which a rule is filed separately. A rule with more is filed under "all", and its own index is
 * consulted.
 */
const maxEntries = 64;
/** Number of rules, subjects and entries that are read before other work may run. */
const itemsPerSlice = 256;
const accountPrefix = 'system:serviceaccount:';
const noCandidates: readonly Candidate[] = [];

export class FlowClassifier {
  /** The schemas in order of precedence: the first that matches wins. */
  readonly #schemas: readonly FlowSchema[];
  readonly #users = new Map<string, SubjectIndex>();
  readonly #groups = new Map<string, SubjectIndex>();
  /** Schemas for all service accounts of a namespace. */
  readonly #accountNamespaces = new Map<string, SubjectIndex>();
  readonly #everyone: SubjectIndex = newIndex();

  private constructor(schemas: readonly FlowSchema[]) {
    this.#schemas = schemas;
  }

  /** Builds the index of schemas, which must be in order of precedence. */
  static *build(schemas: readonly FlowSchema[]): SlicedWork<FlowClassifier> {
    const classifier = new FlowClassifier(schemas);
    for (const [order, { rules }] of schemas.entries()) {
      for (const rule of rules) yield* classifier.#addRule(rule, order);
      yield;
    }
    return classifier;
  }

  /** Returns the index of the first matching schema in the list of schemas; -1 when none matches. */
  find(user: UserInfo, target: FlowTarget): number {
    let best = this.#firstOf(this.#everyone, target, this.#schemas.length);
    best = this.#firstOf(this.#users.get(user.name), target, best);
    for (const group of user.groups) best = this.#firstOf(this.#groups.get(group), target, best);
    if (this.#accountNamespaces.size > 0 && user.name.startsWith(accountPrefix)) {
      const [namespace = ''] = user.name.slice(accountPrefix.length).split(':', 1);
      const hasName = user.name.length > accountPrefix.length + namespace.length;
      if (hasName) best = this.#firstOf(this.#accountNamespaces.get(namespace), target, best);
    }
    return best === this.#schemas.length ? -1 : best;
  }

  /** Returns the lowest order of a matching candidate, or `best` when none is lower. */
  #firstOf(index: SubjectIndex | undefined, target: FlowTarget, best: number): number {
    if (index === undefined) return best;
    if (target.type === 'path') return firstMatch(index.paths, target, best);
    const named =
      index.byResource.size === 0 ? noCandidates : (index.byResource.get(resourceKey(target)) ?? noCandidates);
    return firstMatch(named, target, firstMatch(index.anyResource, target, best));
  }

  *#addRule(rule: FlowRule, order: number): SlicedWork<void> {
    const rules = new RuleIndex();
    let items = 0;
    for (const resourceRule of rule.resourceRules) {
      rules.addResourceRule(resourceRule);
      if (++items % itemsPerSlice === 0) yield;
    }
    for (const pathRule of rule.pathRules) {
      rules.addPathRule(pathRule);
      if (++items % itemsPerSlice === 0) yield;
    }
    const candidate: Candidate = { order, rules };
    const isSmall = rule.subjects.length * rules.resourceCount <= maxEntries;
    const resources = isSmall && rules.resources !== undefined ? [...rules.resources] : undefined;
    for (const subject of rule.subjects) {
      file(this.#indexOf(subject), candidate, resources);
      if (++items % itemsPerSlice === 0) yield;
    }
  }

  #indexOf(subject: FlowSubject): SubjectIndex {
    if (subject.type === 'serviceAccount') {
      if (subject.name === '*') return entryOf(this.#accountNamespaces, subject.namespace);
      return entryOf(this.#users, `${accountPrefix}${subject.namespace}:${subject.name}`);
    }
    if (subject.name === '*') return this.#everyone;
    return entryOf(subject.type === 'user' ? this.#users : this.#groups, subject.name);
  }
}

function firstMatch(candidates: readonly Candidate[], target: FlowTarget, best: number): number {
  for (const { order, rules } of candidates) {
    if (order >= best) return best;
    if (rules.matches(target)) return order;
  }
  return best;
}

function file(index: SubjectIndex, candidate: Candidate, resources: readonly string[] | undefined): void {
  const { rules } = candidate;
  if (rules.hasPathRules) index.paths.push(candidate);
  if (!rules.hasResourceRules) return;
  if (resources === undefined) index.anyResource.push(candidate);
  else for (const resource of resources) listOf(index.byResource, resource).push(candidate);
}

function newIndex(): SubjectIndex {
  return { byResource: new Map(), anyResource: [], paths: [] };
}

function entryOf(map: Map<string, SubjectIndex>, key: string): SubjectIndex {
  const index = map.get(key) ?? newIndex();
  map.set(key, index);
  return index;
}

function listOf(map: Map<string, Candidate[]>, key: string): Candidate[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}
