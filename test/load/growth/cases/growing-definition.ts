// A definition that a case makes anew for each measurement, because the name of a deleted one is not free at once.
import type { GrowthRequest } from '../growth-case.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Counts the definitions made. */
let made = 0;

export const growingGroup = (): string => `growth${made}.example.com`;
const name = (): string => `growings.${growingGroup()}`;

/** Path of the last definition made. */
export const growingPath = (): string => `${definitions}/${name()}`;

/** Path of the objects of the last definition made. */
export const growingObjects = (): string => `/apis/${growingGroup()}/v1/namespaces/default/growings`;

/** Returns the request that creates the next definition. `more`: other members of each version. */
export function growingDefinition(versions: readonly string[], spec: object, more: object = {}): GrowthRequest {
  made += 1;
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  const names = { plural: 'growings', singular: 'growing', kind: 'Growing', listKind: 'GrowingList' };
  const listed = versions.map((version, index) => ({
    ...{ name: version, served: true, storage: index === 0, schema: { openAPIV3Schema } },
    ...more,
  }));
  const body = {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: name() } },
    spec: { group: growingGroup(), scope: 'Namespaced', names, versions: listed },
  };
  return { method: 'POST', path: definitions, body };
}

/** Returns the request that creates an object of the last definition made. */
export function growingObject(spec: unknown): GrowthRequest {
  const head = { apiVersion: `${growingGroup()}/v1`, kind: 'Growing', metadata: { name: 'growth' } };
  return { method: 'POST', path: growingObjects(), body: { ...head, spec } };
}
