// Cases of the OpenAPI documents of large definitions: one schema of many properties, and many versions.
import { type GrowthCase, type GrowthRequest, members, times } from '../growth-case.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const protobuf = (version: string): string => `application/com.github.proto-openapi.spec.${version}.v1.0+protobuf`;

/** Counts the definitions made, because the name of a deleted one is not free at once. */
let made = 0;
const group = (): string => `growth${made}.example.com`;
const name = (): string => `growings.${group()}`;
const document = (version: string): string => `/openapi/v3/apis/${group()}/${version}`;

function definition(versions: readonly string[], properties: object): GrowthRequest {
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
  const names = { plural: 'growings', singular: 'growing', kind: 'Growing', listKind: 'GrowingList' };
  const listed = versions.map((version, index) => ({
    ...{ name: version, served: true, storage: index === 0, schema: { openAPIV3Schema } },
  }));
  const body = {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: name() } },
    spec: { group: group(), scope: 'Namespaced', names, versions: listed },
  };
  return { method: 'POST', path: definitions, body };
}

const property = (index: number): object => ({
  ...{ type: 'string', maxLength: 63 },
  description: `Property ${index} of the objects that grow.`,
});

/** `of`: the document that is read when the definition is served. */
function readsDocument(title: string, of: () => GrowthRequest): GrowthCase {
  return {
    name: `the document of a large definition, ${title}`,
    // About 100 bytes for each property in the stored definition, of 1.5 MiB at most.
    full: 15_000,
    prepare: (n) => {
      made += 1;
      const created = definition(['v1'], members(n, property));
      return [created, { method: 'GET', path: document('v1').replace('/openapi/v3', ''), isAwaited: true }];
    },
    request: of,
    codes: [200],
    get made(): readonly string[] {
      return [`${definitions}/${name()}`];
    },
  };
}

export const openApiCases: readonly GrowthCase[] = [
  readsDocument('as JSON', () => ({ method: 'GET', path: document('v1') })),
  readsDocument('as protobuf', () => ({ method: 'GET', path: document('v1'), accept: protobuf('v3') })),
  readsDocument('of v2', () => ({ method: 'GET', path: '/openapi/v2' })),
  readsDocument('of v2 as protobuf', () => ({ method: 'GET', path: '/openapi/v2', accept: protobuf('v2') })),
  {
    name: 'the index of documents, with many versions of a large definition',
    full: 64,
    prepare: (n) => {
      made += 1;
      const versions = times(n, (index) => `v${index + 1}`);
      return [definition(versions, members(300, property))];
    },
    // The last version is served after the others, so this measures their publication too.
    request: (n) => ({ method: 'GET', path: document(`v${n}`), isAwaited: true }),
    codes: [200],
    get made(): readonly string[] {
      return [`${definitions}/${name()}`];
    },
  },
];
