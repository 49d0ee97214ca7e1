// DefinitionController turns CustomResourceDefinitions into served resources. It decides which names each gets, reports
// in its status, and deletes its objects before the definition itself is removed. control-plane creates the controller,
// which has one ServedDefinition for each definition.
import { randomUUID } from 'node:crypto';
import {
  type CancelTimer,
  type Clock,
  deepCopy,
  isConflict,
  isNotFound,
  type Logger,
  silentLogger,
  systemClock,
  type UnstructuredObject,
} from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import { type MetricFamily, messageOf, nextTurn } from '@kapstan/api/internal';
import {
  type RequestContext,
  type ResourceCatalog,
  type ResourceDefinition,
  type ResourceStack,
  type ResourceStrategy,
  WebhookPool,
} from '@kapstan/apiserver';
import type { ResourceFacts } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { ConversionFunctions } from '../conversion/conversion-functions.ts';
import { ConversionMetrics } from '../conversion/conversion-metrics.ts';
import type { ConversionPorts } from '../conversion/definition-conversion.ts';
import type { ConvertObject } from '../conversion/function-converter.ts';
import { decideNames, hasAcceptedNames, withoutFixedNames } from './accepted-names.ts';
import { approvalCondition } from './api-approval.ts';
import { type DefinitionCondition, isConditionTrue, removeCondition, setCondition } from './definition-conditions.ts';
import { type Definition, DefinitionFeed } from './definition-feed.ts';
import { cleanupFinalizer, definitionResource, isCleanedUp } from './definition-resource.ts';
import { type FixedKindsOptions, fixedKinds, isFixedResource } from './fixed-kinds.ts';
import { deleteInstances } from './instance-cleanup.ts';
import { ServedDefinition } from './served-definition.ts';

/** Options of a {@link DefinitionController}. */
export interface DefinitionControllerOptions extends FixedKindsOptions {
  /** Receives customresourcedefinitions and the resources that they define. */
  readonly catalog: ResourceCatalog;
  /** Opens the storage of a resource with the options that all resources of the server share. */
  createStack(definition: ResourceDefinition<UnstructuredObject>): ResourceStack;
  /** Facts of the definitions' own resource, {@link definitionsId}. */
  readonly facts: ResourceFacts;
  /** Calls conversion webhooks. Absent: they are called without a way to Services. Its owner closes it. */
  readonly webhooks?: WebhookPool;
  /**
   * Functions that convert objects, by name of the definition ("widgets.example.com"), in place of its own strategy. Default none.
   */
  readonly conversions?: Readonly<Record<string, ConvertObject>> | ConversionFunctions;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

const retryMs = 1000;
const resource = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };

/**
 * Follows CustomResourceDefinitions, serves their kinds, and reports names, conditions and stored versions in their
 * statuses.
 */
export class DefinitionController {
  readonly #options: DefinitionControllerOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #stack: ResourceStack;
  readonly #status: ResourceStrategy<UnstructuredObject>;
  readonly #feed: DefinitionFeed;
  readonly #conversions: ConversionPorts;
  readonly #ownWebhooks: WebhookPool | undefined;
  readonly #served = new Map<string, ServedDefinition>();
  readonly #dirty = new Set<string>();
  readonly #cleanups = new Map<string, Promise<void>>();
  readonly #timers = new Set<CancelTimer>();
  readonly #unfollow: () => void;
  readonly #stop = new AbortController();
  #work: Promise<void> | undefined;

  /** Opens the store of the definitions; nothing is served before {@link start}. */
  constructor(options: DefinitionControllerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    const definition = definitionResource({ clock: this.#clock, facts: options.facts });
    this.#ownWebhooks = options.webhooks === undefined ? new WebhookPool({ clock: this.#clock }) : undefined;
    const { conversions: given } = options;
    const functions = given instanceof ConversionFunctions ? given : new ConversionFunctions(given);
    this.#conversions = {
      webhooks: options.webhooks ?? (this.#ownWebhooks as WebhookPool),
      functions,
      metrics: new ConversionMetrics(),
      clock: this.#clock,
      newUid: randomUUID,
    };
    this.#stack = options.createStack(definition);
    const status = definition.subresources.find(({ name }) => name === 'status');
    if (status?.type !== 'strategy') throw new TypeError('definitions have a status');
    this.#status = status.strategy;
    this.#feed = new DefinitionFeed({
      store: this.#stack.served.store,
      context: this.#contextFor(''),
      clock: this.#clock,
      logger: this.#logger,
      onChange: (change) => this.#changed(change.next, change.last),
    });
    this.#unfollow = functions.follow((name) => this.#enqueue(name));
  }

  /** Resolves when the existing definitions are served. */
  async start(): Promise<void> {
    await this.#stack.waitUntilReady();
    this.#options.catalog.install(this.#stack.served);
    await this.#feed.start();
    await this.#work;
  }

  /** Ends all watches of definitions and of custom resources. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the server is shutting down'));
    this.#unfollow();
    this.#feed.close();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await this.#work;
    await Promise.all(this.#cleanups.values());
    await Promise.all([...this.#served.values()].map((served) => served.close()));
    this.#served.clear();
    this.#options.catalog.remove(resource.group, 'v1', resource.resource);
    await this.#stack.close();
    this.#ownWebhooks?.close();
  }

  /** Returns the metrics of conversions. */
  families(): MetricFamily[] {
    return this.#conversions.metrics.families();
  }

  #changed(next: Definition | undefined, last: Definition | undefined): void {
    const definition = next ?? last;
    if (definition === undefined) return;
    this.#enqueue(definition.metadata?.name ?? '');
    // Names may have become free for definitions that wait for them.
    for (const other of this.#feed.all()) {
      const isWaiting = other.spec.group === definition.spec.group && !isConditionTrue(other, 'NamesAccepted');
      if (isWaiting) this.#enqueue(other.metadata?.name ?? '');
    }
  }

  // Atomic: if a name is added just as the worker ends, the next worker starts.
  #enqueue(name: string): void {
    if (this.#stop.signal.aborted) return;
    this.#dirty.add(name);
    this.#work ??= this.#drain();
  }

  async #drain(): Promise<void> {
    // Events come in bursts and within calls of the store, so they are handled in a later turn.
    for (;;) {
      await nextTurn();
      const [name] = this.#dirty;
      if (name === undefined || this.#stop.signal.aborted) break;
      this.#dirty.delete(name);
      await this.#reconcile(name).catch((error: unknown) => this.#retry(name, error));
    }
    this.#work = undefined;
  }

  #retry(name: string, error: unknown): void {
    // A newer state is on its way and will be tried next.
    if (this.#stop.signal.aborted || isConflict(error) || isNotFound(error)) return;
    this.#logger.error('serving a custom resource definition failed', { name, error: String(error) });
    const cancel = this.#clock.setBackgroundTimer(() => {
      this.#timers.delete(cancel);
      this.#enqueue(name);
    }, retryMs);
    this.#timers.add(cancel);
  }

  async #reconcile(name: string): Promise<void> {
    const definition = this.#feed.get(name);
    if (definition === undefined) {
      // Where a store cannot be closed, the next attempt needs to know it.
      await this.#served.get(name)?.close();
      this.#served.delete(name);
      return;
    }
    const next = this.#decided(definition);
    if (isConditionTrue(next, 'Established')) await this.#servedOf(name).serve(next);
    if (definition.metadata?.deletionTimestamp !== undefined) {
      if (!isCleanedUp(definition)) this.#startCleanup(name);
    } else if (!jsonEqual(next.status, definition.status)) {
      const { resourceVersion } = definition.metadata ?? {};
      await this.#writeStatus(name, (present) => {
        // Requires the version that was read, so a newer state is a conflict.
        return {
          ...present,
          metadata: { ...present.metadata, resourceVersion },
          status: next.status,
        } as CustomResourceDefinition;
      });
    }
  }

  /**
   * Returns the definition with the right names and conditions; everything but the status, which may be large, is
   * shared. A definition that is being deleted keeps its names and conditions.
   */
  #decided(definition: Definition): CustomResourceDefinition {
    const next = { ...definition, status: deepCopy(definition.status) } as CustomResourceDefinition;
    if (definition.metadata?.deletionTimestamp !== undefined) return next;
    const nowMs = this.#clock.now();
    const fixed = fixedKinds(this.#options, definition.spec.group);
    const asking = withoutFixedNames(definition, fixed);
    const { acceptedNames, namesAccepted, established } = decideNames(asking, this.#feed.all(), fixed);
    if (!hasAcceptedNames(asking)) {
      next.status = { ...next.status, acceptedNames };
      setCondition(next, namesAccepted, nowMs);
      setCondition(next, established, nowMs);
    } else if (isConditionTrue(definition, 'NamesAccepted')) setCondition(next, established, nowMs);
    const approval = approvalCondition(definition);
    if (approval === undefined) removeCondition(next, 'KubernetesAPIApprovalPolicyConformant');
    else setCondition(next, approval, nowMs);
    return next;
  }

  #servedOf(name: string): ServedDefinition {
    const known = this.#served.get(name);
    if (known !== undefined) return known;
    const served = new ServedDefinition({ ...this.#options, conversions: this.#conversions });
    this.#served.set(name, served);
    return served;
  }

  #startCleanup(name: string): void {
    if (this.#cleanups.has(name)) return;
    const cleanup = this.#cleanUp(name)
      .catch((error: unknown) => this.#retry(name, error))
      .finally(() => this.#cleanups.delete(name));
    this.#cleanups.set(name, cleanup);
  }

  async #cleanUp(name: string): Promise<void> {
    await this.#setTerminating(name, {
      status: 'True',
      reason: 'InstanceDeletionInProgress',
      message: 'CustomResource deletion is in progress',
    });
    const definition = this.#feed.get(name);
    if (definition === undefined) return;
    await this.#setTerminating(name, await this.#cleanedUp(name, definition));
  }

  async #cleanedUp(name: string, definition: Definition): Promise<TerminatingState> {
    const message = 'instances overlap with built-in resources in storage';
    if (this.#isOverlapping(definition)) return { status: 'False', reason: 'OverlappingBuiltInResource', message };
    if (isConditionTrue(definition, 'Established')) return this.#deleteInstances(name, definition);
    return { status: 'False', reason: 'NeverEstablished', message: 'resource was never established' };
  }

  /** Returns true when the objects belong to a resource that the definition could not replace. */
  #isOverlapping({ spec }: Definition): boolean {
    return isFixedResource(this.#options, { group: spec.group, resource: spec.names.plural });
  }

  async #deleteInstances(name: string, definition: Definition): Promise<TerminatingState> {
    const { signal } = this.#stop;
    const contextFor = (namespace: string): RequestContext => this.#contextFor(namespace);
    try {
      await this.#servedOf(name).withInstances(definition, ({ store }) =>
        deleteInstances({ store, contextFor, signal }),
      );
      return { status: 'False', reason: 'InstanceDeletionCompleted', message: 'removed all instances' };
    } catch (error) {
      if (signal.aborted) throw error;
      const message = `could not issue all deletes: ${messageOf(error)}`;
      await this.#setTerminating(name, { status: 'True', reason: 'InstanceDeletionFailed', message });
      throw error;
    }
  }

  /** The last step of a termination removes the finalizer, so that the definition is removed. */
  async #setTerminating(name: string, state: TerminatingState): Promise<void> {
    await this.#writeStatus(name, (present) => {
      setCondition(present, { type: 'Terminating', ...state }, this.#clock.now());
      const { metadata = {} } = present;
      if (state.status === 'False') {
        metadata.finalizers = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== cleanupFinalizer);
      }
      return present;
    });
  }

  async #writeStatus(
    name: string,
    change: (present: CustomResourceDefinition) => CustomResourceDefinition,
  ): Promise<void> {
    const { stored } = await this.#stack.served.store.update(this.#contextFor(''), {
      name,
      strategy: this.#status,
      subresource: 'status',
      transform: (present) => {
        if (present === undefined) throw notFound(resource, name);
        return change(present as unknown as CustomResourceDefinition) as unknown as UnstructuredObject;
      },
    });
    const written = stored.object as unknown as Definition;
    // A deletion returns the deleted definition; the watch reports it.
    if (!isGone(written)) this.#feed.take(written);
  }

  #contextFor(namespace: string): RequestContext {
    return {
      user: { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] },
      namespace,
      dryRun: false,
      fieldManager: 'kapstan',
      fieldValidation: 'Ignore',
      nextTurn,
      signal: this.#stop.signal,
      warn: () => undefined,
    };
  }
}

type TerminatingState = Pick<DefinitionCondition, 'status' | 'reason' | 'message'>;

function isGone(definition: Definition): boolean {
  const { deletionTimestamp, finalizers = [] } = definition.metadata ?? {};
  return deletionTimestamp !== undefined && finalizers.length === 0;
}
