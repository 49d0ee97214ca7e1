// RequestMatching decides whether a webhook or a policy selects a request by resource, namespace and object, and brings its objects into
// the version that the rule names. Used by webhook-matching.ts and policy/policy-selection.ts. Source: plugin/webhook/generic
// ShouldCallHook, predicates/namespace, predicates/object, policy/matching.
import type { DeepReadonly, GroupResource, KubernetesObject, LabelSelector } from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import type { GroupVersionKind, GroupVersionResource } from '@kapstan/api/internal';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import { convertBetween, type EquivalentResources } from './equivalent-resources.ts';
import type { Invocation } from './invocation.ts';
import type { ResourceRule } from './resource-rule.ts';
import { type RuledRequest, ruleMatches } from './resource-rule.ts';

/** The namespaces, which this package does not know. */
export interface NamespaceReader {
  /** The resource of namespaces. */
  readonly resource: GroupVersionResource;
  /** Resolves to undefined when there is no such namespace. */
  read(namespace: string): Promise<DeepReadonly<KubernetesObject> | undefined>;
}

/** The version of the request that a rule names. `definition`: the resource that has the objects in that version. */
export interface Place {
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
  readonly definition: ResourceDefinition | undefined;
}

/** A rule that may name objects. Without names it is about all. */
export interface NamedRule extends ResourceRule {
  readonly resourceNames?: readonly string[];
}

export interface PlaceRules {
  readonly rules: readonly NamedRule[];
  /** True = requests in other versions of a kind match too, and are converted. */
  readonly matchesEquivalent: boolean;
}

export class RequestMatching {
  readonly equivalents: EquivalentResources;
  readonly namespaces: NamespaceReader;

  constructor(equivalents: EquivalentResources, namespaces: NamespaceReader) {
    this.equivalents = equivalents;
    this.namespaces = namespaces;
  }

  /** Returns a matching for one request, which reads its namespace once. */
  remembering(): RequestMatching {
    const { resource } = this.namespaces;
    const known = new Map<string, ReturnType<NamespaceReader['read']>>();
    const read: NamespaceReader['read'] = (name) => {
      const found = known.get(name) ?? this.namespaces.read(name);
      known.set(name, found);
      return found;
    };
    return new RequestMatching(this.equivalents, { resource, read });
  }

  /** Returns the version of the request that a rule names: its own, or else the first equivalent one. */
  placeOf({ rules, matchesEquivalent }: PlaceRules, attributes: AdmissionAttributes): Place | undefined {
    const { resource, subresource, name } = attributes;
    const request = this.#ruled(attributes);
    const matches = (rule: NamedRule, of: RuledRequest): boolean => ruleMatches(rule, of) && namesObject(rule, name);
    if (rules.some((rule) => matches(rule, request))) return this.ownPlace(attributes);
    const definition = matchesEquivalent ? this.equivalents.definitionOf(resource) : undefined;
    if (definition === undefined) return undefined;
    const others = this.equivalents.of(definition, subresource);
    for (const rule of rules) {
      const found = others.find((other) => matches(rule, { ...request, resource: other.resource }));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  ownPlace({ resource, kind }: AdmissionAttributes): Place {
    return { resource, kind, definition: this.equivalents.definitionOf(resource) };
  }

  /** Returns false for Namespaces themselves, although their requests carry a namespace. */
  isNamespaced({ namespace, resource }: AdmissionAttributes): boolean {
    return namespace !== '' && !this.isNamespace(resource);
  }

  isNamespace({ group, resource }: GroupResource): boolean {
    const { resource: known } = this.namespaces;
    return group === known.group && resource === known.resource;
  }

  /** Rejects with 404 when the namespace for the selector does not exist. */
  namespaceMatches(selector: LabelSelector, attributes: AdmissionAttributes): boolean | Promise<boolean> {
    const { namespace, resource, subresource, operation, object } = attributes;
    const isNamespace = this.isNamespace(resource);
    // Objects outside of namespaces are never exempt.
    if (selector.isEmpty || (namespace === '' && !isNamespace)) return true;
    // The stored state of a namespace that is written is not the newest one.
    if (isNamespace && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE')) {
      return selector.matches(object?.metadata?.labels ?? {});
    }
    return this.#storedNamespaceMatches(selector, namespace);
  }

  /** Returns the request with its objects in the version of the place. */
  invocation(place: Place, attributes: AdmissionAttributes): Invocation | Promise<Invocation> {
    const { kind, resource } = place;
    const { object, oldObject } = attributes;
    if (sameKind(kind, attributes.kind)) return { attributes, kind, resource, object, oldObject };
    return this.#convertedInvocation(place, attributes);
  }

  async #storedNamespaceMatches(selector: LabelSelector, namespace: string): Promise<boolean> {
    const found = await this.namespaces.read(namespace);
    if (found === undefined) throw notFound(this.namespaces.resource, namespace);
    return selector.matches(found.metadata?.labels ?? {});
  }

  #ruled(attributes: AdmissionAttributes): RuledRequest {
    const { operation, resource, subresource } = attributes;
    return { operation, resource, subresource, isNamespaced: this.isNamespaced(attributes) };
  }

  async #convertedInvocation(place: Place, attributes: AdmissionAttributes): Promise<Invocation> {
    const { kind, resource } = place;
    return {
      attributes,
      kind,
      resource,
      object: (await this.#inVersion(attributes.object, place, attributes)) as KubernetesObject | undefined,
      oldObject: await this.#inVersion(attributes.oldObject, place, attributes),
    };
  }

  async #inVersion(
    object: DeepReadonly<KubernetesObject> | undefined,
    { definition: to }: Place,
    attributes: AdmissionAttributes,
  ): Promise<DeepReadonly<KubernetesObject> | undefined> {
    const from = this.equivalents.definitionOf(attributes.resource);
    if (object === undefined || from === undefined || to === undefined) return object;
    return convertBetween(object, { from, to, context: attributes.context });
  }
}

function namesObject({ resourceNames = [] }: NamedRule, name: string): boolean {
  return resourceNames.length === 0 || resourceNames.includes(name);
}

/** Tests the object or the one that it replaces; a request with neither is not selected. */
export function objectMatches(selector: LabelSelector, { operation, object, oldObject }: AdmissionAttributes): boolean {
  if (selector.isEmpty) return true;
  // The options of a connection have no labels.
  if (operation === 'CONNECT') return false;
  const matches = (of: DeepReadonly<KubernetesObject> | undefined): boolean =>
    of !== undefined && selector.matches(of.metadata?.labels ?? {});
  return matches(object) || matches(oldObject);
}

export function sameKind(a: GroupVersionKind, b: GroupVersionKind): boolean {
  return a.group === b.group && a.version === b.version && a.kind === b.kind;
}
