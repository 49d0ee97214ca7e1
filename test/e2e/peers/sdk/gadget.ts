// A custom resource for the programs, installed once per server, and the same without its type, as a dynamic client
// sees it.
import { defineResource, isAlreadyExists, type Resource, resource, type UnstructuredObject } from '@kapstan/api';
import type { Client } from '@kapstan/client';
import { installDefinitions } from '@kapstan/controller';

export const Gadget = defineResource({
  group: 'sdk.example.com',
  version: 'v1',
  kind: 'Gadget',
  spec: {
    type: 'object',
    properties: {
      image: { type: 'string' },
      replicas: { type: 'integer', minimum: 0, maximum: 10, default: 1 },
      // Takes any content.
      extra: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
    required: ['image'],
  },
  status: { type: 'object', properties: { replicas: { type: 'integer' }, phase: { type: 'string' } } },
  shortNames: ['gdg'],
  categories: ['all'],
});

export const dynamicGadget: Resource<UnstructuredObject> = resource({
  group: 'sdk.example.com',
  version: 'v1',
  kind: 'Gadget',
});

/** Resolves when the resource is served. Every program may call it. */
export async function installGadget(client: Client): Promise<void> {
  await installDefinitions([Gadget], { client, fieldManager: 'sdk-programs' });
  // A kube-apiserver serves the resource a little after it claims to.
  await client.list(Gadget).then(undefined, (error) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
