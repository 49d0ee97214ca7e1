// Route identifies the handler of a request for a resource. Made by resource-router.ts and custom-resource-router.ts.
import type { UnstructuredObject } from '@kapstan/api';
import type { ServedResource } from '../../registry/definition/catalog.ts';
import type { Subresource } from '../../registry/definition/resource-definition.ts';
import type { ResourceHandler } from './resource-call.ts';

export interface Route {
  readonly served: ServedResource;
  readonly subresource: Subresource<UnstructuredObject> | undefined;
  readonly name: string;
  readonly handler: ResourceHandler;
}
