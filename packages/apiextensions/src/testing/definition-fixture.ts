// Custom resources over a real engine for the tests of this package: the controller, its catalog, and definitions for
// it.

import { deepCopy, type Logger, type UnstructuredObject } from '@kapstan/api';
import { formatMetrics } from '@kapstan/api/internal';
import type { ResourceStore } from '@kapstan/apiserver';
import { ResourceCatalog, ResourceStack, type ResourceStackOptions } from '@kapstan/apiserver';
import { type OpenEngine, StoreFixture, testContext } from '@kapstan/apiserver/testing';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { builtinFacts } from '@kapstan/kubernetes';
import type { Stored } from '@kapstan/storage';
import { DefinitionController, type DefinitionControllerOptions } from '../definition/definition-controller.ts';
import { definitionsId } from '../definition/definition-resource.ts';

/** Parts of a definition that a test changes. */
export interface DefinitionParts {
  readonly group?: string;
  readonly scope?: 'Namespaced' | 'Cluster';
  readonly names?: Partial<CustomResourceDefinition['spec']['names']>;
  readonly versions?: readonly Partial<CustomResourceDefinitionVersion>[];
  /** The only version, unless `versions` is given. */
  readonly version?: Partial<CustomResourceDefinitionVersion>;
  readonly spec?: Partial<CustomResourceDefinition['spec']>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Returns widgets.example.com in v1, whose objects may have any fields, unless the parts say otherwise. */
export function widgets(parts: DefinitionParts = {}): CustomResourceDefinition {
  const { group = 'example.com', scope = 'Namespaced', annotations } = parts;
  const names = { plural: 'widgets', kind: 'Widget', ...parts.names };
  const versions = parts.versions ?? [parts.version ?? {}];
  return deepCopy({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${group}`, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      group,
      scope,
      names,
      versions: versions.map((version, index) => ({
        name: 'v1',
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        ...version,
      })),
      ...parts.spec,
    },
  }) as CustomResourceDefinition;
}

export function widget(name: string, more: Record<string, unknown> = {}): UnstructuredObject {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, ...more };
}

export type FixtureOptions = Partial<ResourceStackOptions> &
  Pick<DefinitionControllerOptions, 'conversions' | 'isFixed'>;

/** The custom resources of a server, without the server. */
export class DefinitionFixture {
  readonly stores: StoreFixture;
  readonly catalog = new ResourceCatalog();
  readonly logged: string[] = [];
  readonly #options: FixtureOptions;
  #controller: DefinitionController | undefined;

  private constructor(stores: StoreFixture, options: FixtureOptions) {
    this.stores = stores;
    this.#options = options;
  }

  static async open(openEngine: OpenEngine, options: FixtureOptions = {}): Promise<DefinitionFixture> {
    const fixture = new DefinitionFixture(await StoreFixture.open(openEngine), options);
    await fixture.start();
    return fixture;
  }

  async start(): Promise<void> {
    const { engine, clock } = this.stores;
    const log = (message: string): void => void this.logged.push(message);
    const logger: Logger = { debug: log, info: log, warn: log, error: log };
    const { conversions = {}, isFixed, ...stackOptions } = this.#options;
    const options = { engine, clock, freeze: true, ...stackOptions };
    this.#controller = new DefinitionController({
      facts: builtinFacts(definitionsId),
      catalog: this.catalog,
      createStack: (definition) => new ResourceStack(definition, options),
      conversions,
      ...(isFixed && { isFixed }),
      clock,
      logger,
    });
    await this.#controller.start();
  }

  /** Returns the controller's metrics of conversions, one line per sample. */
  conversionCounts(): string {
    return formatMetrics(this.#controller?.families() ?? []);
  }

  async stop(): Promise<void> {
    await this.#controller?.close();
    this.#controller = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.stores.close();
  }

  get definitions(): ResourceStore<UnstructuredObject> {
    return this.store('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
  }

  store(group: string, version: string, resource: string): ResourceStore<UnstructuredObject> {
    const served = this.catalog.find(group, version, resource);
    if (served === undefined) throw new Error(`${group}/${version}/${resource} is not served`);
    return served.store;
  }

  /** Creates like a client, with defaults. */
  async create(definition: CustomResourceDefinition): Promise<CustomResourceDefinition> {
    const body = deepCopy(definition) as unknown as UnstructuredObject;
    this.catalog.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')?.definition.applyDefaults(body);
    return asDefinition(await this.definitions.create(clusterContext(), body));
  }

  /** Creates a definition and waits until its objects are served. */
  async establish(definition: CustomResourceDefinition): Promise<CustomResourceDefinition> {
    await this.create(definition);
    return this.until(definition.metadata?.name ?? '', (present) => conditionOf(present, 'Established') === 'True');
  }

  async update(
    name: string,
    change: (definition: CustomResourceDefinition) => void,
  ): Promise<CustomResourceDefinition> {
    const { stored } = await this.definitions.update(clusterContext(), {
      name,
      transform: (present) => {
        if (present === undefined) throw new Error(`${name} is not there`);
        change(present as unknown as CustomResourceDefinition);
        this.catalog.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')?.definition.applyDefaults(present);
        return present;
      },
    });
    return asDefinition(stored);
  }

  delete(name: string): Promise<unknown> {
    return this.definitions.delete(clusterContext(), name, {});
  }

  async get(name: string): Promise<CustomResourceDefinition> {
    return asDefinition(await this.definitions.get(clusterContext(), name));
  }

  /** Resolves to the first state that is wanted. */
  until(name: string, isWanted: (definition: CustomResourceDefinition) => boolean): Promise<CustomResourceDefinition> {
    return this.#watch((type, definition) => {
      return type !== 'DELETED' && definition.metadata?.name === name && isWanted(definition) ? definition : undefined;
    });
  }

  async untilGone(name: string): Promise<void> {
    await this.#watch((type, definition) =>
      type === 'DELETED' && definition.metadata?.name === name ? true : undefined,
    );
  }

  /** Resolves when the catalog is as wanted. */
  untilCatalog(isWanted: () => boolean): Promise<void> {
    if (isWanted()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = this.catalog.onChange(() => {
        if (!isWanted()) return;
        end();
        resolve();
      });
    });
  }

  #watch<R>(look: (type: string, definition: CustomResourceDefinition) => R | undefined): Promise<R> {
    return new Promise((resolve, reject) => {
      const watch = this.definitions.watch(
        clusterContext(),
        {},
        {
          onEvent: (event) => {
            if (event.type === 'BOOKMARK') return;
            const found = look(event.type, asDefinition(event.stored));
            if (found === undefined) return;
            queueMicrotask(() => watch.close());
            resolve(found);
          },
          onEnd: (error) => reject(error ?? new Error('the watch has ended')),
        },
      );
    });
  }
}

/** Returns the context of a request about definitions, which have no namespace. */
export function clusterContext(): ReturnType<typeof testContext> {
  return testContext({ namespace: '' });
}

export function conditionOf(definition: CustomResourceDefinition, type: string): string | undefined {
  return definition.status?.conditions?.find((condition) => condition.type === type)?.status;
}

function asDefinition(stored: Stored<UnstructuredObject>): CustomResourceDefinition {
  return stored.object as unknown as CustomResourceDefinition;
}
