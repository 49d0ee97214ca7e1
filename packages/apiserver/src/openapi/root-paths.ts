// Describes the paths that belong to no resource: discovery, the version, and the pages of the service account issuer.
// Used by openapi-documents.ts and swagger-documents.ts. Source: apiserver endpoints/discovery, pkg/routes.
import { formatApiVersion, type GroupVersion } from '@kapstan/api/internal';
import type { OpenApiObject, TypeNames } from './openapi-operations.ts';
import { camelCase, operationTag } from './operation-names.ts';

const types = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

interface Page {
  readonly tag: string;
  readonly operationId: string;
  readonly description: string;
  readonly types: readonly string[];
  /** Definition of the answer; undefined for text. */
  readonly definition?: string;
}

/** A page that has its own document, by its path in the index. */
export interface RootPage {
  readonly path: string;
  readonly page: Page;
}

/** Group pages are documented only for groups that are not made of custom resources. */
export function rootPages(groups: readonly string[]): ReadonlyMap<string, RootPage> {
  const pages = new Map<string, RootPage>();
  const add = (key: string, page: Page): void => void pages.set(key, { path: `/${key}/`, page });
  const versions = { types, definition: 'meta/v1.APIVersions' };
  const description = 'get available API versions';
  if (groups.includes('')) add('api', { tag: 'core', operationId: 'getCoreAPIVersions', description, ...versions });
  add('apis', {
    ...{ tag: 'apis', operationId: 'getAPIVersions', description },
    ...{ types, definition: 'meta/v1.APIGroupList' },
  });
  for (const group of groups) if (group !== '') add(`apis/${group}`, groupPage(group));
  add('version', {
    ...{ tag: 'version', operationId: 'getCodeVersion', types: types.slice(0, 1) },
    ...{ description: 'get the version information for this server', definition: 'machinery/version.Info' },
  });
  return pages;
}

/** Pages of the issuer of service account tokens. */
export const issuerPages: ReadonlyMap<string, RootPage> = new Map([
  [
    '.well-known/openid-configuration',
    {
      path: '/.well-known/openid-configuration/',
      page: {
        ...{ tag: 'WellKnown', operationId: 'getServiceAccountIssuerOpenIDConfiguration', types: types.slice(0, 1) },
        description: "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
      },
    },
  ],
  [
    'openid/v1/jwks',
    {
      path: '/openid/v1/jwks/',
      page: {
        ...{ tag: 'openid', operationId: 'getServiceAccountIssuerOpenIDKeyset', types: ['application/jwk-set+json'] },
        description: 'get service account issuer OpenID JSON Web Key Set (contains public token verification keys)',
      },
    },
  ],
]);

function groupPage(group: string): Page {
  const tag = operationTag({ group, version: '' }).replace(/_$/, '');
  const name = camelCase(tag, 'Upper');
  const description = 'get information of a group';
  return { tag, operationId: `get${name}APIGroup`, description, types, definition: 'meta/v1.APIGroup' };
}

/** Returns the list of resources of a group version that is not made of custom resources. */
export function groupVersionPage(of: GroupVersion): RootPage {
  const tag = operationTag(of);
  const name = tag
    .split('_')
    .map((part) => camelCase(part, 'Upper'))
    .join('');
  const description = 'get available resources';
  const path = of.group === '' ? `/api/${of.version}/` : `/apis/${formatApiVersion(of)}/`;
  const page = {
    tag,
    operationId: `get${name}APIResources`,
    description,
    types,
    definition: 'meta/v1.APIResourceList',
  };
  return { path, page };
}

export function describePage({ page }: RootPage, names: Pick<TypeNames, 'refTo'>): OpenApiObject {
  const schema = page.definition === undefined ? { type: 'string' } : names.refTo(page.definition);
  const content = Object.fromEntries(page.types.map((type) => [type, { schema }]));
  return {
    get: {
      ...{ tags: [page.tag], description: page.description, operationId: page.operationId },
      responses: { 200: { description: 'OK', content }, 401: { description: 'Unauthorized' } },
    },
  };
}
