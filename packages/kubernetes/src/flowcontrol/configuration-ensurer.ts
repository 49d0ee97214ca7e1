// Keeps the bootstrap flow schemas and priority levels in the store: creates missing ones, updates those that follow this server, and removes
// those that an older server left. Called by the control plane at its start and every minute. Source: pkg/registry/flowcontrol/ensurer,
// rest/storage_flowcontrol.go.
import {
  type DeepReadonly,
  deepCopy,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubernetesObject,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import { jsonEqual } from '@kapstan/apiserver/internal';
import { FlowSchema, PriorityLevelConfiguration } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import type { ObjectCreator, OwnObjectWriters } from '../builtin/prepared-objects.ts';
import {
  type BootstrapObject,
  mandatoryLevels,
  mandatorySchemas,
  suggestedLevels,
  suggestedSchemas,
} from './bootstrap-configuration.ts';
import type { FlowControlObjects } from './flow-control-objects.ts';

const fieldManager = 'api-priority-and-fairness-config-producer-v1';
const autoUpdate = 'apf.kubernetes.io/autoupdate-spec';

/** 'mandatory': the spec is always this server's. 'suggested': it follows the server until somebody changes it. */
type Strategy = 'mandatory' | 'suggested';

interface SpecObject extends KubernetesObject {
  spec?: object;
}

interface BootstrapKind<T extends SpecObject> {
  readonly resource: Resource<T>;
  /** Returns the stored object as last read. */
  readonly known: (name: string) => DeepReadonly<T> | undefined;
  readonly all: Iterable<DeepReadonly<T>>;
  readonly isEqual: (wanted: object, present: DeepReadonly<T>) => boolean;
}

/**
 * Tries every object before it rejects with the first failure. `objects` must be in step with the store. Missing objects are
 * created by `creator`.
 */
export async function ensureFlowConfiguration(
  client: ResourceClient,
  objects: FlowControlObjects,
  creator: ObjectCreator = client,
): Promise<void> {
  const writers = { client, creator };
  const levels: BootstrapKind<PriorityLevelConfiguration> = {
    resource: PriorityLevelConfiguration,
    known: (name) => objects.level(name),
    all: objects.levels,
    isEqual: isEqualLevel,
  };
  const schemas: BootstrapKind<FlowSchema> = {
    resource: FlowSchema,
    known: (name) => objects.schema(name),
    all: objects.schemas,
    isEqual: (wanted, { spec }) => jsonEqual(wanted, spec),
  };
  const results = await Promise.allSettled([
    ...ensureAll(writers, levels, { mandatory: mandatoryLevels, suggested: suggestedLevels }),
    ...ensureAll(writers, schemas, { mandatory: mandatorySchemas, suggested: suggestedSchemas }),
  ]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

function ensureAll<T extends SpecObject>(
  writers: OwnObjectWriters,
  kind: BootstrapKind<T>,
  wanted: Readonly<Record<Strategy, readonly BootstrapObject<object>[]>>,
): Promise<void>[] {
  const names = new Set([...wanted.mandatory, ...wanted.suggested].map(({ metadata: { name } }) => name));
  return [
    ...wanted.suggested.map((object) => ensure(writers, kind, { object, strategy: 'suggested' })),
    ...wanted.mandatory.map((object) => ensure(writers, kind, { object, strategy: 'mandatory' })),
    ...[...kind.all]
      .filter((object) => isAbandoned(object, names))
      .map((object) => remove(writers.client, kind, object)),
  ];
}

async function ensure<T extends SpecObject>(
  { client, creator }: OwnObjectWriters,
  kind: BootstrapKind<T>,
  { object, strategy }: { readonly object: BootstrapObject<object>; readonly strategy: Strategy },
): Promise<void> {
  const { resource, known, isEqual } = kind;
  const present = known(object.metadata.name);
  if (present === undefined) return create(creator, resource, object);
  const follows = strategy === 'mandatory' || followsServer(present);
  const isCurrent = !follows || isEqual(object.spec, present);
  if (isCurrent && flagOf(present) === follows) return;
  const revised = deepCopy(present) as T;
  revised.metadata = {
    ...revised.metadata,
    annotations: { ...revised.metadata?.annotations, [autoUpdate]: String(follows) },
  };
  if (!isCurrent) revised.spec = deepCopy(object.spec);
  // After a conflict or a deletion, the next round checks again.
  await client.update(resource, revised, { fieldManager }).catch(unless(isConflict, isNotFound));
}

async function create<T extends SpecObject>(
  creator: OwnObjectWriters['creator'],
  resource: Resource<T>,
  { metadata, spec }: BootstrapObject<object>,
): Promise<void> {
  const { group, version, kind } = resource;
  const object = {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { ...metadata, annotations: { [autoUpdate]: 'true' } },
    spec: deepCopy(spec),
  } as unknown as T;
  await creator.create(resource, object, { fieldManager }).catch(unless(isAlreadyExists));
}

async function remove<T extends SpecObject>(
  client: ResourceClient,
  { resource }: BootstrapKind<T>,
  object: DeepReadonly<T>,
): Promise<void> {
  await client.delete(resource, { name: object.metadata?.name ?? '' }).catch(unless(isNotFound));
}

/** True for an object that a server wrote and that current servers no longer write. */
function isAbandoned(object: DeepReadonly<SpecObject>, names: ReadonlySet<string>): boolean {
  return !names.has(object.metadata?.name ?? '') && flagOf(object) === true;
}

/** Without a flag an object follows the server until its spec is changed. */
function followsServer(object: DeepReadonly<SpecObject>): boolean {
  return flagOf(object) ?? object.metadata?.generation === 1;
}

/** Returns undefined when the annotation is missing or says neither yes nor no. Source: strconv.ParseBool. */
function flagOf({ metadata }: DeepReadonly<SpecObject>): boolean | undefined {
  const text = metadata?.annotations?.[autoUpdate] ?? '';
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  return ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text) ? false : undefined;
}

/** The cluster may choose the shares of the exempt level and how much it lends. */
function isEqualLevel(wanted: object, { metadata, spec }: DeepReadonly<PriorityLevelConfiguration>): boolean {
  if (metadata?.name !== 'exempt') return jsonEqual(wanted, spec);
  const { exempt, ...rest } = spec ?? {};
  return exempt !== undefined && jsonEqual(rest, { type: 'Exempt' });
}

/** Returns a handler that accepts the errors expected by the predicates and rethrows any other. */
function unless(...isExpected: readonly ((error: unknown) => boolean)[]): (error: unknown) => undefined {
  return (error) => {
    if (!isExpected.some((predicate) => predicate(error))) throw error;
    return undefined;
  };
}
