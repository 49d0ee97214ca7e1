// WebhookMatching decides which webhooks a request goes to, and in which version of its kind. Used by
// mutating-webhooks.ts and validating-webhooks.ts. Source: plugin/webhook/generic ShouldCallHook, predicates/namespace,
// predicates/object.
import type { Clock, DeepReadonly, GroupResource, KubernetesObject, LabelSelector } from '@kapstan/api';
import { forbidden, notFound } from '@kapstan/api/errors';
import type { GroupVersionKind, GroupVersionResource } from '@kapstan/api/internal';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import type { Invocation } from './admission-review.ts';
import type { AdmissionWebhook } from './admission-webhook.ts';
import { convertBetween, type EquivalentResources } from './equivalent-resources.ts';
import type { WebhookMetrics, WebhookType } from './webhook-metrics.ts';
import { ruleMatches } from './webhook-rule.ts';

/** The labels of namespaces, which this package does not know. */
export interface NamespaceLabels {
  /** The resource of namespaces. */
  readonly resource: GroupResource;
  /** Resolves to undefined when there is no such namespace. */
  labelsOf(namespace: string): Promise<Readonly<Record<string, string>> | undefined>;
}

export interface WebhookMatchingPorts {
  readonly equivalents: EquivalentResources;
  readonly namespaces: NamespaceLabels;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
}

/** A request as one webhook gets it. `definition`: the resource in whose version its objects are. */
export interface MatchedWebhook {
  readonly invocation: Invocation;
  readonly definition: ResourceDefinition | undefined;
}

interface Place {
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
  readonly definition: ResourceDefinition | undefined;
}

export class WebhookMatching {
  readonly #ports: WebhookMatchingPorts;

  constructor(ports: WebhookMatchingPorts) {
    this.#ports = ports;
  }

  /**
   * Returns undefined when the webhook is not for this request. Rejects with 403 when a condition fails, and with 404
   * when the namespace that a selector asks about does not exist.
   */
  async match(
    webhook: AdmissionWebhook,
    attributes: AdmissionAttributes,
    type: WebhookType,
  ): Promise<MatchedWebhook | undefined> {
    const place = this.#placeOf(webhook, attributes);
    if (place === undefined || !objectMatches(webhook.objectSelector, attributes)) return undefined;
    if (!(await this.#namespaceMatches(webhook.namespaceSelector, attributes))) return undefined;
    const invocation = await this.#invocation(place, attributes);
    if (webhook.conditions !== undefined && !(await this.#conditionsHold(webhook, invocation, type))) return undefined;
    return { invocation, definition: place.definition };
  }

  /** Returns the version of the request that a rule names: its own one, else the first equivalent one. */
  #placeOf(webhook: AdmissionWebhook, attributes: AdmissionAttributes): Place | undefined {
    const { operation, resource, subresource, kind, namespace } = attributes;
    const isNamespaced = namespace !== '' && !this.#isNamespace(resource);
    const request = { operation, resource, subresource, isNamespaced };
    const { equivalents } = this.#ports;
    if (webhook.rules.some((rule) => ruleMatches(rule, request))) {
      return { resource, kind, definition: equivalents.definitionOf(resource) };
    }
    const definition = webhook.matchesEquivalent ? equivalents.definitionOf(resource) : undefined;
    if (definition === undefined) return undefined;
    const others = equivalents.of(definition, subresource);
    for (const rule of webhook.rules) {
      const found = others.find((other) => ruleMatches(rule, { ...request, resource: other.resource }));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #namespaceMatches(selector: LabelSelector, attributes: AdmissionAttributes): Promise<boolean> {
    const { namespace, resource, subresource, operation, object } = attributes;
    const isNamespace = this.#isNamespace(resource);
    // Objects outside of namespaces are never exempt.
    if (selector.isEmpty || (namespace === '' && !isNamespace)) return true;
    // The stored state of a namespace that is written is not the newest one.
    if (isNamespace && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE')) {
      return selector.matches(object?.metadata?.labels ?? {});
    }
    const labels = await this.#ports.namespaces.labelsOf(namespace);
    if (labels === undefined) throw notFound(this.#ports.namespaces.resource, namespace);
    return selector.matches(labels);
  }

  #isNamespace({ group, resource }: GroupResource): boolean {
    const { resource: known } = this.#ports.namespaces;
    return group === known.group && resource === known.resource;
  }

  async #invocation(place: Place, attributes: AdmissionAttributes): Promise<Invocation> {
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
    { kind, definition: to }: Place,
    attributes: AdmissionAttributes,
  ): Promise<DeepReadonly<KubernetesObject> | undefined> {
    if (object === undefined || sameKind(kind, attributes.kind)) return object;
    const from = this.#ports.equivalents.definitionOf(attributes.resource);
    if (from === undefined || to === undefined) return object;
    return convertBetween(object, { from, to, signal: attributes.context.signal });
  }

  async #conditionsHold(webhook: AdmissionWebhook, invocation: Invocation, type: WebhookType): Promise<boolean> {
    const { authorizer, clock, metrics } = this.#ports;
    const { attributes } = invocation;
    const { signal } = attributes.context;
    const beganMs = clock.monotonicNow();
    const result = await webhook.conditions?.match(invocation, { authorizer, clock, signal });
    const of = { name: webhook.name, type, operation: attributes.operation };
    metrics.conditionsEvaluated(of, clock.monotonicNow() - beganMs);
    if (result === 'matches') return true;
    if (typeof result === 'object') metrics.conditionsFailed(of, result.errors);
    if (typeof result !== 'object' || webhook.ignoresFailure) {
      metrics.conditionsExcluded(of);
      return false;
    }
    throw forbidden(attributes.resource, attributes.name, result.failed);
  }
}

/** The object or the one that it replaces; an object of neither is not selected. */
function objectMatches(selector: LabelSelector, { operation, object, oldObject }: AdmissionAttributes): boolean {
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
