// AdmissionServer: a server with the few resources that admission plug-ins read, and the admission chain. Used by the
// plug-ins' tests.
import { type DeepReadonly, isStatusError, type UnstructuredObject } from '@kapstan/api';
import type { AdmissionAttributes, ResourceStore } from '@kapstan/apiserver';
import {
  AdmissionChain,
  type AdmissionChainOptions,
  alwaysAllow,
  ResourceCatalog,
  ResourceStack,
} from '@kapstan/apiserver';
import {
  type DefinitionChanges,
  type StoreFixture,
  testContext,
  testDefinition,
  unconditionalStrategy,
} from '@kapstan/apiserver/testing';
import { kubernetesAdmission } from '../admission/built-in-plugins.ts';

/** The resources that the plug-ins read, in a separate server. */
const resources: readonly DefinitionChanges[] = [
  { resource: 'configmaps', kind: 'ConfigMap' },
  {
    resource: 'namespaces',
    kind: 'Namespace',
    namespaced: false,
    strategy: {
      ...unconditionalStrategy,
      holdsDeletion: (object: DeepReadonly<UnstructuredObject>) => object.finalized !== true,
      prepareForDeletion: (object: UnstructuredObject) => {
        object.status = { phase: 'Terminating' };
      },
    },
  },
  { resource: 'pods', kind: 'Pod' },
  { resource: 'limitranges', kind: 'LimitRange' },
  { resource: 'nodes', kind: 'Node', namespaced: false },
  { resource: 'serviceaccounts', kind: 'ServiceAccount' },
  { resource: 'services', kind: 'Service' },
  { resource: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim' },
  { resource: 'persistentvolumes', kind: 'PersistentVolume', namespaced: false },
  { group: 'networking.k8s.io', resource: 'ingresses', kind: 'Ingress' },
  { group: 'networking.k8s.io', resource: 'ingressclasses', kind: 'IngressClass', namespaced: false },
  { group: 'storage.k8s.io', resource: 'storageclasses', kind: 'StorageClass', namespaced: false },
  { group: 'storage.k8s.io', resource: 'volumeattributesclasses', kind: 'VolumeAttributesClass', namespaced: false },
  { group: 'node.k8s.io', resource: 'runtimeclasses', kind: 'RuntimeClass', namespaced: false },
  { group: 'scheduling.k8s.io', resource: 'priorityclasses', kind: 'PriorityClass', namespaced: false },
];

/** A server with admission that serves only the resources of one test. */
export class AdmissionServer {
  readonly fixture: StoreFixture;
  readonly catalog = new ResourceCatalog();
  readonly #stacks: ResourceStack[] = [];

  constructor(fixture: StoreFixture) {
    this.fixture = fixture;
  }

  async start(options: Partial<AdmissionChainOptions>): Promise<void> {
    const { clock, engine } = this.fixture;
    const { catalog } = this;
    const admission = new AdmissionChain({
      catalog,
      authorizer: alwaysAllow,
      builtIn: kubernetesAdmission,
      clock,
      random: () => 0,
      ...options,
    });
    for (const changes of resources) {
      const stack = new ResourceStack(testDefinition(changes), { engine, clock, admission });
      this.#stacks.push(stack);
      this.catalog.install(stack.served);
    }
    await Promise.all(this.#stacks.map((stack) => stack.waitUntilReady()));
  }

  store(resource: string, group = ''): ResourceStore {
    const served = this.catalog.find(group, 'v1', resource);
    if (served === undefined) throw new Error(`no ${resource}`);
    return served.store;
  }

  /** Creates an object, in namespace "default" unless it is cluster-scoped or names another one. */
  async create(
    resource: string,
    object: Record<string, unknown> & { name?: string; namespace?: string; group?: string },
  ) {
    const { name = 'x', namespace = 'default', group = '', metadata, ...rest } = object;
    const context = testContext({ namespace });
    const body = { apiVersion: 'v1', kind: 'Test', metadata: { name, ...(metadata as object) }, ...rest };
    return (await this.store(resource, group).create(context, body)).object as UnstructuredObject;
  }

  async close(): Promise<void> {
    for (const stack of this.#stacks) await stack.close();
    await this.fixture.close();
  }
}

/** Returns an administrator's update of ConfigMap "x", unless changed. */
export function testAttributes(changes: Partial<AdmissionAttributes>): AdmissionAttributes {
  return {
    operation: 'UPDATE',
    resource: { group: '', version: 'v1', resource: 'configmaps' },
    subresource: '',
    kind: { group: '', version: 'v1', kind: 'ConfigMap' },
    name: 'x',
    namespace: 'default',
    object: {},
    oldObject: undefined,
    context: testContext(),
    ...changes,
  };
}

/** Returns code and text of a plug-in's refusal; undefined = none. */
export async function objection(step: () => Promise<void> | void): Promise<readonly [number, string] | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return [error.code, error.message];
  }
}
