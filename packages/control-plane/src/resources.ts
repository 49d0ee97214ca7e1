// Resources: every served resource with its storage, and a client for them that needs no HTTP. Opened by control-plane.ts.
import type { Clock, GroupResource, Logger, ResourceClient, Revision } from '@kapstan/api';
import { formatGroupResource, formatMetrics, type MetricFamily, type MetricsText } from '@kapstan/api/internal';
import {
  type ConversionFunctions,
  type ConvertObject,
  DefinitionController,
  type DefinitionControllerOptions,
  definitionsId,
} from '@kapstan/apiextensions';
import {
  type AdmissionChain,
  type AdmissionFunction,
  FieldManager,
  type HealthCheck,
  InProcessClient,
  mirrorCatalog,
  type ObjectPatching,
  type ObjectStats,
  objectPatching,
  ResourceCatalog,
  type ResourceCodecOptions,
  type ResourceDefinition,
  ResourceStack,
  type ResourceStackOptions,
  type ServedResource,
  sharePatternThread,
  storageCodecOf,
  WebhookPool,
} from '@kapstan/apiserver';
import { cacherMetrics, type InspectedResource } from '@kapstan/cacher';
import {
  ApiEnablement,
  type BuiltinServer,
  bindings,
  builtinFacts,
  componentStatuses,
  deploymentRollbacks,
  guardEscalation,
  type QuotaAdmission,
  type RuntimeConfig,
  serviceResolver,
  virtualResource,
} from '@kapstan/kubernetes';
import { type Engine, type InspectedStore, mergeSeries, storeMetrics, storeSizeMetric } from '@kapstan/storage';
import { type AccessControl, type AccessControlOptions, openAccessControl } from './access/access-control.ts';
import { type AdmissionFeeds, type AdmissionOptions, openAdmission } from './access/admission.ts';
import { type BuiltinOptions, builtinDefinitions } from './builtin-definitions.ts';
import { componentChecks } from './component-checks.ts';
import type { EncryptionAtRest } from './encryption-config/encryption-at-rest.ts';
import { nodePortsResource, type SharedNodePorts, sharedNodePorts } from './kubernetes-service/shared-node-ports.ts';
import { largeObjectValidation } from './large-objects.ts';
import { startingWith } from './lifetime/start-error.ts';
import { reportLoading } from './load-progress.ts';
import type { StoreEngines } from './store/store-engines.ts';
import { StorePolls } from './store/store-polls.ts';
import { type WatchCacheOptions, watchCacheOptions } from './store/watch-cache-options.ts';
import { storeChecks } from './store-checks.ts';

export interface ResourcesOptions extends BuiltinOptions {
  /** Prefix of all keys in the store. Default "/registry". */
  readonly keyPrefix?: string | undefined;
  readonly watchCache?: WatchCacheOptions | undefined;
  readonly deleteCollectionWorkers?: number | undefined;
  readonly collectsGarbage?: boolean | undefined;
  readonly admission?: AdmissionOptions | readonly AdmissionFunction[] | undefined;
  /** Freezes the objects that caches share, so that a change fails where it is made. For tests. Default false. */
  readonly freeze?: boolean | undefined;
  readonly encryption?: EncryptionAtRest | undefined;
  /** Same as the server's option: objects that cannot be read may be deleted by force, so lists name them. Default false. */
  readonly allowsUnsafeDeletion?: boolean | undefined;
  /** How long to wait for kinds whose objects cannot be read, in milliseconds, before serving without them. Default 60 000. */
  readonly storageInitializationTimeoutMs?: number | undefined;
  /** Maximum number of seconds by which a lease may outlive its object, so that objects can share leases. 0 = no sharing. Default 60. */
  readonly leaseReuseSeconds?: number | undefined;
  /** Interval at which stored objects are counted for /metrics, in milliseconds; 0 = never. Default 60 000. */
  readonly countPollMs?: number | undefined;
  /** Interval at which the size of the store is read for /metrics, in milliseconds; 0 = never. Default 30 000. */
  readonly sizePollMs?: number | undefined;
  readonly access?: AccessControlOptions | undefined;
  /** Built-in APIs to serve or not. Default: stable versions on, all others off. */
  readonly runtimeConfig?: RuntimeConfig | undefined;
  /** See ControlPlaneOptions. */
  readonly conversions?: Readonly<Record<string, ConvertObject>> | ConversionFunctions | undefined;
  /** Encoding of objects in the engine. Default: JSON in a store that is not shared with other servers. */
  readonly storedAs?: ResourceCodecOptions | undefined;
  /** See ControlPlaneOptions. */
  readonly aggregation?: { readonly endpointsOnly?: boolean | undefined } | undefined;
  readonly logger: Logger;
}

export interface Resources {
  /** Every resource with which the server works. */
  readonly catalog: ResourceCatalog;
  /** Resources of the catalog that clients can discover. */
  readonly served: ResourceCatalog;
  /** Present where several servers share the store. */
  readonly nodePorts: SharedNodePorts | undefined;
  readonly access: AccessControl;
  /** The amounts in use, and charges of requests that have not ended. */
  readonly quotas: QuotaAdmission;
  readonly client: ResourceClient;
  readonly patching: ObjectPatching;
  readonly healthChecks: HealthCheck[];
  /** Returns false while the objects of some kind cannot be read. */
  isReady(): boolean;
  /**
   * Reports that the engine was compacted to this revision, so watches of its resources may no longer start before it.
   */
  forgetBefore(engine: Engine, revision: Revision): void;
  /** Returns the last count of a resource's objects. */
  objectStats(of: GroupResource): ObjectStats | 'stale' | undefined;
  /** Returns the content and activity of the watch caches. */
  caches(): readonly InspectedResource[];
  /** Metrics of stores, watch caches and authenticators, in Prometheus' text format. */
  readonly metrics: MetricsText;
  close(): Promise<void>;
}

function inspected(open: ReadonlySet<ResourceStack>): InspectedResource[] {
  return [...open].flatMap(({ cacher, served }) => {
    const { group, resource } = served.definition;
    return cacher === undefined ? [] : [{ group, resource, inspection: cacher.inspect() }];
  });
}

function inspectedStores(open: ReadonlySet<ResourceStack>, polls: StorePolls): InspectedStore[] {
  return [...open].map((stack) => {
    const { group, resource } = stack.served.definition;
    const stats = polls.statsOf(stack);
    return { group, resource, inspection: stack.inspectStore(), stats };
  });
}

interface MetricSources {
  readonly open: ReadonlySet<ResourceStack>;
  readonly polls: StorePolls;
  readonly access: AccessControl;
  readonly admission: AdmissionChain;
  readonly customResources: DefinitionController;
}

function formatOwnMetrics({ open, polls, access, admission, customResources }: MetricSources): string {
  const stores = storeMetrics(inspectedStores(open, polls));
  const { metrics: tokens } = access.secretTokens;
  return formatMetrics([
    // Horizontal pod autoscalers have one store for each version, so their series are merged.
    ...mergeSeries([...stores, ...cacherMetrics(inspected(open))]),
    ...sizeMetrics(polls.storedBytes),
    ...access.authorizer.families(),
    ...admission.families(),
    ...customResources.families(),
    ...tokens,
  ]);
}

/** Labels each store as kube-apiserver labels its clusters: etcd-0, etcd-1, … */
function sizeMetrics(storedBytes: readonly (number | undefined)[]): MetricFamily[] {
  const samples = storedBytes.flatMap((bytes, index) =>
    bytes === undefined ? [] : [{ labels: { storage_cluster_id: `etcd-${index}` }, value: bytes }],
  );
  return samples.length === 0 ? [] : [{ ...storeSizeMetric(0), samples }];
}

const ownStore: ResourceCodecOptions = { mediaType: 'application/json', isShared: false };

/**
 * Opens the built-in resources and the custom ones of stored definitions, and waits until they can be read. The caller still owns the
 * engines.
 */
export async function openResources(engines: StoreEngines, options: ResourcesOptions): Promise<Resources> {
  const { clock, logger } = options;
  const enablement = await startingWith('runtimeConfig', () => new ApiEnablement(options.runtimeConfig));
  const catalog = new ResourceCatalog();
  const managedFields = new FieldManager({ clock, findVersion: (of, version) => catalog.findVersion(of, version) });
  const patching = objectPatching(managedFields);
  const client = new InProcessClient({ catalog, clock, patching });
  const access = await openAccessControl(options.access ?? {}, { catalog, client, clock, logger });
  const parts = { enablement, catalog, managedFields, patching, client, access };
  try {
    return await openOnCatalog(engines, options, parts);
  } catch (error) {
    await access.authorizer.close();
    throw error;
  }
}

interface CatalogParts extends Pick<Resources, 'catalog' | 'patching' | 'client' | 'access'> {
  readonly enablement: ApiEnablement;
  readonly managedFields: FieldManager;
}

async function openOnCatalog(
  engines: StoreEngines,
  options: ResourcesOptions,
  { enablement, catalog, managedFields, patching, client, access }: CatalogParts,
): Promise<Resources> {
  const { clock, logger } = options;
  const findStore: BuiltinServer['findStore'] = (...id) => catalog.find(...id)?.store;
  const webhooks = webhookPool(findStore, options);
  const { authorizer } = access;
  const { admission, feeds, quotas } = openAdmission(options, { catalog, client, authorizer, webhooks });
  const largeValidation = largeObjectValidation();
  const { open, createStack } = stackMaker(engines, options, { managedFields, admission, largeValidation });
  const nodePorts = nodePortsOf(engines, options);
  const virtual = virtualResources({ clock, findStore, engines, access, virtual: { managedFields, admission } });
  const parts = { catalog, access, nodePorts, virtual: virtual.map(({ definition }) => definition) };
  const stacks = (await builtinDefinitions(options, parts)).map(createStack);
  installGuarded(catalog, stacks, access);
  // Without this option, the whole catalog is served.
  const served = options.runtimeConfig === undefined ? catalog : servedOf(catalog, enablement, options.kinds);
  for (const resource of virtual) catalog.install(resource);
  const customResources = customResourcesOf(options, { catalog, createStack, webhooks });
  const polls = storePolls(options, engines, open);
  // Calls in this process match patterns, too, so the thread does not wait for a server that listens.
  const endPatternThread = sharePatternThread();
  const close = async (): Promise<void> => {
    polls.close();
    await closeAll([feeds, customResources]);
    await closeAll([...stacks, nodePorts, largeValidation, webhooks, { close: endPatternThread }]);
  };
  const endReport = reportLoading({ open, clock, logger });
  try {
    await Promise.all(stacks.map((stack) => stack.waitUntilReady()));
    await startFeeds(feeds, open);
    await customResources.start();
    polls.start();
  } catch (error) {
    await close();
    throw error;
  } finally {
    endReport();
  }
  return {
    catalog,
    nodePorts,
    served,
    access,
    quotas,
    client,
    patching,
    healthChecks: [...storeChecks(engines.all, open), ...(options.encryption?.healthChecks ?? [])],
    isReady: () => [...open].every((stack) => stack.readiness() === undefined),
    metrics: { metrics: async () => formatOwnMetrics({ open, polls, access, admission, customResources }) },
    caches: () => inspected(open),
    objectStats: (of) => polls.latestOf(of),
    forgetBefore: (engine, revision) => {
      for (const { cacher } of stacksOf(engine, engines, open)) cacher?.forgetBefore(revision);
    },
    close: () => close().finally(() => authorizer.close()),
  };
}

/** Returns a function that opens the stack of a kind, and the set of open stacks. */
function stackMaker(
  engines: StoreEngines,
  options: ResourcesOptions,
  parts: Pick<ResourceStackOptions, 'managedFields' | 'admission' | 'largeValidation'>,
): {
  readonly open: ReadonlySet<ResourceStack>;
  readonly createStack: (definition: ResourceDefinition) => ResourceStack;
} {
  const { clock, logger } = options;
  const open = new Set<ResourceStack>();
  const onClosed = (stack: ResourceStack): boolean => open.delete(stack);
  const shared: Omit<ResourceStackOptions, 'engine'> = { clock, logger, ...parts, ...storeOptions(options), onClosed };
  const createStack = (definition: ResourceDefinition): ResourceStack => {
    const stack = new ResourceStack(definition, { ...shared, engine: engines.engineFor(definition) });
    open.add(stack);
    return stack;
  };
  return { open, createStack };
}

async function closeAll(parts: readonly ({ close(): Promise<void> | void } | undefined)[]): Promise<void> {
  await Promise.all(parts.map((part) => part?.close()));
}

function webhookPool(findStore: BuiltinServer['findStore'], { aggregation, clock }: ResourcesOptions): WebhookPool {
  return new WebhookPool({
    clock,
    resolveService: serviceResolver({ findStore, endpointsOnly: aggregation?.endpointsOnly }),
  });
}

function stacksOf(engine: Engine, engines: StoreEngines, open: ReadonlySet<ResourceStack>): readonly ResourceStack[] {
  return [...open].filter(({ served }) => engines.engineFor(served.definition) === engine);
}

function storePolls(
  { countPollMs = 60_000, sizePollMs = 30_000, clock, logger }: ResourcesOptions,
  engines: StoreEngines,
  stacks: ReadonlySet<ResourceStack>,
): StorePolls {
  const periods = { countPeriodMs: countPollMs, sizePeriodMs: sizePollMs };
  return new StorePolls({ engines: engines.all, stacks, ...periods, clock, logger });
}

function customResourcesOf(
  { clock, logger, conversions = {}, kinds = [] }: ResourcesOptions,
  parts: Pick<DefinitionControllerOptions, 'catalog' | 'createStack' | 'webhooks'>,
): DefinitionController {
  const isFixed = (definition: ResourceDefinition): boolean => kinds.includes(definition);
  return new DefinitionController({
    ...parts,
    isFixed,
    clock,
    logger,
    conversions,
    facts: builtinFacts(definitionsId),
  });
}

/** Writes are refused until the webhooks and policies that may concern them are known, and slow until the quotas are. */
async function startFeeds(feeds: AdmissionFeeds, open: ReadonlySet<ResourceStack>): Promise<void> {
  feeds.start();
  if ([...open].every((stack) => stack.readiness() === undefined)) await feeds.whenSynced();
}

interface VirtualParts {
  readonly clock: Clock;
  readonly findStore: BuiltinServer['findStore'];
  readonly engines: StoreEngines;
  readonly access: AccessControl;
  readonly virtual: Parameters<AccessControl['reviews']>[0];
}

/** Returns the resources that are answered but not stored. */
function virtualResources({ clock, findStore, engines, access, virtual }: VirtualParts): readonly ServedResource[] {
  return [
    virtualResource(bindings({ clock, findStore }), virtual),
    virtualResource(componentStatuses(componentChecks(engines.all, clock)), virtual),
    ...access.reviews(virtual),
  ];
}

/** Installs roles and bindings so that nobody can grant permissions that they do not have. */
function installGuarded(catalog: ResourceCatalog, stacks: readonly ResourceStack[], access: AccessControl): void {
  const storeOf = new Map(stacks.map(({ served }) => [formatGroupResource(served.definition), served.store]));
  const guard = {
    authorizer: access.authorizer,
    findStore: (resource: string) => storeOf.get(formatGroupResource({ group: 'rbac.authorization.k8s.io', resource })),
  };
  for (const stack of stacks) catalog.install(guardEscalation(stack.served, guard));
}

/** Returns the resources of the catalog that are served. Custom resources are served where their definitions are. */
function servedOf(
  catalog: ResourceCatalog,
  enablement: ApiEnablement,
  kinds: ResourcesOptions['kinds'] = [],
): ResourceCatalog {
  const deployments = catalog.find('apps', 'v1', 'deployments');
  const historic = { group: 'extensions', version: 'v1beta1', resource: 'deployments' };
  if (deployments !== undefined && enablement.isServed(historic)) catalog.install(deploymentRollbacks(deployments));
  const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
  return mirrorCatalog(
    catalog,
    (definition) =>
      kinds.includes(definition) || enablement.isServed(definition.isCustom === true ? definitions : definition),
  );
}

/** Returns the options that apply to the stacks of all resources. */
function storeOptions(options: ResourcesOptions): Omit<ResourceStackOptions, 'engine'> {
  return {
    codecFor: (definition) => storageCodecOf(definition, options.storedAs ?? ownStore),
    ...watchCacheOptions(options.watchCache),
    keyPrefix: options.keyPrefix,
    freeze: options.freeze,
    collectsGarbage: options.collectsGarbage,
    deleteCollectionWorkers: options.deleteCollectionWorkers,
    leaseReuseSeconds: options.leaseReuseSeconds,
    initializationTimeoutMs: options.storageInitializationTimeoutMs ?? 60_000,
    namesUnreadable: options.allowsUnsafeDeletion ?? false,
    transformerFor: (definition) => options.encryption?.transformerFor(definition),
  };
}

/** Returns undefined for a server that does not share its store: it reads used ports from its services. */
function nodePortsOf(
  engines: StoreEngines,
  { keyPrefix, storedAs = ownStore, encryption }: ResourcesOptions,
): SharedNodePorts | undefined {
  if (!storedAs.isShared) return undefined;
  return sharedNodePorts({
    engine: engines.engineFor(nodePortsResource),
    storedAs,
    transformer: encryption?.transformerFor(nodePortsResource),
    keyPrefix,
  });
}
