// A registry over a real engine for the tests of this package: definitions of a few small kinds and a store of each.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isStatusError, type KubernetesObject, type StatusError, type UnstructuredObject } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { defaultAttributes, type Engine, jsonCodec, ObjectStore } from '@kapstan/storage';
import { defaultStrategy } from '../registry/definition/default-strategy.ts';
import type { RequestContext } from '../registry/definition/request-context.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { GenericStore, type StoreHooks } from '../registry/store/generic-store.ts';

export type OpenEngine = (options: { readonly dataDir: string }) => Promise<Engine & { close(): Promise<void> }>;

/** Changes of a definition for a test. */
export type DefinitionChanges = Partial<ResourceDefinition<UnstructuredObject>>;

/** Returns a plain definition, of ConfigMaps unless changed. */
export function testDefinition(changes: DefinitionChanges = {}): ResourceDefinition<UnstructuredObject> {
  const namespaced = changes.namespaced ?? true;
  return {
    group: '',
    version: 'v1',
    resource: 'configmaps',
    singular: 'configmap',
    kind: 'ConfigMap',
    listKind: 'ConfigMapList',
    namespaced,
    shortNames: [],
    categories: [],
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    storagePrefix: `/${changes.resource ?? 'configmaps'}`,
    storageVersion: { group: changes.group ?? '', version: changes.version ?? 'v1' },
    schema: {},
    strategy: unconditionalStrategy,
    subresources: [],
    table: { columns: [], cells: () => [] },
    getAttributes: defaultAttributes(namespaced),
    selectableFields: [],
    applyDefaults: () => undefined,
    ...changes,
  };
}

/** A strategy like most built-in kinds have: an update need not name a version. */
export const unconditionalStrategy = { ...defaultStrategy, allowUnconditionalUpdate: true };

/** The engine, the clock and the stores of one test. */
export class StoreFixture {
  readonly clock = new VirtualClock();
  readonly engine: Engine;
  /** A directory that is removed with the fixture. */
  readonly dataDir: string;
  readonly #close: () => Promise<void>;

  private constructor(engine: Engine, dataDir: string, close: () => Promise<void>) {
    this.engine = engine;
    this.dataDir = dataDir;
    this.#close = close;
  }

  static async open(openEngine: OpenEngine): Promise<StoreFixture> {
    const dataDir = await mkdtemp(join(tmpdir(), 'kapstan-registry-'));
    const engine = await openEngine({ dataDir });
    return new StoreFixture(engine, dataDir, () => engine.close());
  }

  storage(
    definition: ResourceDefinition<UnstructuredObject>,
    engine: Engine = this.engine,
  ): ObjectStore<UnstructuredObject> {
    return new ObjectStore<UnstructuredObject>({
      engine,
      codec: jsonCodec<UnstructuredObject>(),
      resourcePrefix: definition.storagePrefix,
      groupResource: { group: definition.group, resource: definition.resource },
      freeze: true,
    });
  }

  store(
    changes: DefinitionChanges = {},
    hooks: StoreHooks = {},
    engine: Engine = this.engine,
  ): GenericStore<UnstructuredObject> {
    const definition = testDefinition(changes);
    const storage = this.storage(definition, engine);
    return new GenericStore<UnstructuredObject>({ definition, storage, clock: this.clock, ...hooks });
  }

  async close(): Promise<void> {
    await this.#close();
    await rm(this.dataDir, { recursive: true, force: true });
  }
}

/** Returns the context of an administrator's request in namespace "default", with the warnings that it received. */
export function testContext(changes: Partial<RequestContext> = {}): RequestContext & { readonly warnings: string[] } {
  const warnings: string[] = [];
  return {
    user: { name: 'admin', groups: ['system:masters'] },
    namespace: 'default',
    dryRun: false,
    fieldManager: 'test',
    fieldValidation: 'Warn',
    ...changes,
    warnings,
    warn: (text) => warnings.push(text),
  };
}

/** Returns the StatusError that refused a call. */
export async function refusal(promise: Promise<unknown>): Promise<StatusError> {
  const outcome = await promise.then(
    () => 'it was not refused',
    (reason: unknown) => reason,
  );
  if (isStatusError(outcome)) return outcome;
  throw outcome instanceof Error ? outcome : new Error(String(outcome));
}

export function configMap(name: string, more: Record<string, unknown> = {}): UnstructuredObject {
  const { metadata, ...rest } = more as { metadata?: KubernetesObject['metadata'] };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, ...rest };
}
