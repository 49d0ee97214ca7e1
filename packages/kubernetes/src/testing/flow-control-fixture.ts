// Serves flow schemas and priority levels over a real engine, with a client and a copy of the stored objects, for
// tests.
import {
  AdmissionChain,
  alwaysAllow,
  FieldManager,
  InProcessClient,
  objectPatching,
  ResourceCatalog,
  ResourceStack,
} from '@kapstan/apiserver';
import { type OpenEngine, StoreFixture } from '@kapstan/apiserver/testing';
import { FlowSchema, PriorityLevelConfiguration } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import { builtinResources } from '../builtin-resources.ts';
import { FlowControlObjects } from '../flowcontrol/flow-control-objects.ts';

export interface FlowControlServer {
  readonly client: InProcessClient;
  readonly clock: StoreFixture['clock'];
  /** The stored objects at the last call of `read`. */
  readonly objects: FlowControlObjects;
  read(): Promise<void>;
  close(): Promise<void>;
}

export async function openFlowControlServer(openEngine: OpenEngine): Promise<FlowControlServer> {
  const fixture = await StoreFixture.open(openEngine);
  const { clock } = fixture;
  const definitions = builtinResources({ clock }).filter(({ group }) => group === 'flowcontrol.apiserver.k8s.io');
  const catalog = new ResourceCatalog();
  const admission = new AdmissionChain({ catalog, authorizer: alwaysAllow });
  const managedFields = new FieldManager({ clock, findVersion: (of, version) => catalog.findVersion(of, version) });
  const stacks = definitions.map(
    (definition) =>
      new ResourceStack(definition, { engine: fixture.engine, freeze: true, admission, managedFields, clock }),
  );
  await Promise.all(stacks.map((stack) => stack.waitUntilReady()));
  for (const { served } of stacks) catalog.install(served);
  const client = new InProcessClient({ catalog, clock, patching: objectPatching(managedFields) });
  const objects = new FlowControlObjects(() => undefined);
  return {
    client,
    clock,
    objects,
    read: async () => {
      objects.replace('FlowSchema', (await client.listPage(FlowSchema)).items);
      objects.replace('PriorityLevelConfiguration', (await client.listPage(PriorityLevelConfiguration)).items);
    },
    close: async () => {
      for (const stack of stacks) await stack.close();
      await fixture.close();
    },
  };
}
