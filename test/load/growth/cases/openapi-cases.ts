// Cases of the OpenAPI documents of large definitions: one schema of many properties, and many versions.
import { type GrowthCase, type GrowthRequest, members, times } from '../growth-case.ts';
import { growingDefinition, growingGroup, growingPath } from './growing-definition.ts';

const protobuf = (version: string): string => `application/com.github.proto-openapi.spec.${version}.v1.0+protobuf`;
const document = (version: string): string => `/openapi/v3/apis/${growingGroup()}/${version}`;
const objectOf = (properties: object): object => ({ type: 'object', properties });

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
      const created = growingDefinition(['v1'], objectOf(members(n, property)));
      return [created, { method: 'GET', path: document('v1').replace('/openapi/v3', ''), isAwaited: true }];
    },
    request: of,
    codes: [200],
    get made(): readonly string[] {
      return [growingPath()];
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
      const versions = times(n, (index) => `v${index + 1}`);
      return [growingDefinition(versions, objectOf(members(300, property)))];
    },
    // The last version is served after the others, so this measures their publication too.
    request: (n) => ({ method: 'GET', path: document(`v${n}`), isAwaited: true }),
    codes: [200],
    get made(): readonly string[] {
      return [growingPath()];
    },
  },
];
