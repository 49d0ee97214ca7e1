// Heads of requests and single numbers that grow: what stands in a path, a query or a header may have 1 MiB.
import { configMaps, type GrowthCase, type GrowthRequest, namespacePath, times } from '../growth-case.ts';

const get = (query: string, headers?: GrowthRequest['headers']): GrowthRequest => ({
  ...{ method: 'GET', path: `${configMaps}?${query}` },
  ...(headers && { headers }),
});
const digits = (n: number): string => '9'.repeat(n);

const grows = (name: string, full: number, code: number, request: (n: number) => GrowthRequest): GrowthCase => ({
  ...{ name: `head: ${name}`, full, request, codes: [code] },
});

/** Names objects by bytes that are no text; no object has such a name. */
const escaped = (name: string, full: number, bytes: string): GrowthCase => ({
  ...{ name: `head: a path of ${name}`, full, codes: [404] },
  request: (n) => ({ method: 'GET', path: `${configMaps}/${bytes.repeat(n)}` }),
});

const accepts = (name: string, full: number, type: (index: number) => string, codes = [200]): GrowthCase => ({
  ...{ name: `head: an Accept header of ${name}`, full, codes },
  request: (n) => ({ method: 'GET', path: `${configMaps}?limit=1`, accept: times(n, type).join(',') }),
});

const scale = (replicas: string): string => `{"metadata":{"name":"growth"},"spec":{"replicas":${replicas}}}`;

export const headCases: readonly GrowthCase[] = [
  grows('a long name of a client', 800_000, 200, (n) => get('limit=1', { 'user-agent': 'a'.repeat(n) })),
  grows('a long name of a client beyond ASCII', 400_000, 200, (n) => get('limit=1', { 'user-agent': 'é'.repeat(n) })),
  escaped('bytes that are not UTF-8', 290_000, '%ff'),
  escaped('letters between bytes that are not UTF-8', 70_000, '%c3%a9a%ff'),
  accepts('types with weights', 60_000, (i) => `a/b;q=0.${i}`, [406]),
  accepts('weights of one type', 32_000, (i) => `application/json;q=0.${i}`),
  accepts('shapes that are refused', 26_000, (i) => `application/json;q=0.${i};as=a`, [406]),
  grows('a limit of many digits', 900_000, 400, (n) => get(`limit=${digits(n)}`)),
  grows('a timeout of many digits', 900_000, 400, (n) => get(`timeoutSeconds=${digits(n)}`)),
  grows('a version of many digits', 900_000, 400, (n) => get(`resourceVersion=${digits(n)}`)),
  grows('a version of many zeros', 900_000, 200, (n) => get(`resourceVersion=${'0'.repeat(n)}`)),
  grows('a selector with a number of many digits', 900_000, 400, (n) => get(`labelSelector=a%3E${digits(n)}`)),
  {
    ...{ name: 'head: a continue token with many digits', full: 600_000, codes: [400, 410] },
    request: (n) => {
      const token = Buffer.from(`{"v":"meta.k8s.io/v1","rv":${digits(n)},"start":"a\\u0000"}`).toString('base64url');
      return get(`limit=1&continue=${token}`);
    },
  },
  {
    ...{ name: 'head: a whole number of many digits in JSON', full: 2_800_000, codes: [400] },
    request: (n) => ({
      ...{ method: 'POST', path: '/apis/apps/v1/namespaces/default/deployments', body: scale(digits(n)) },
    }),
  },
  {
    ...{ name: 'head: options of a deletion with many digits', full: 2_000_000, codes: [400] },
    request: (n) => ({
      ...{ method: 'DELETE', path: `${configMaps}/growth`, body: `{"gracePeriodSeconds":${digits(n)}}` },
    }),
  },
  {
    ...{ name: 'head: a quantity of many zeros', full: 2_800_000 },
    request: (n) => ({
      ...{ method: 'POST', path: `${namespacePath}/resourcequotas?dryRun=All` },
      body: { metadata: { name: 'growth' }, spec: { hard: { cpu: `${'0'.repeat(n)}1` } } },
    }),
  },
];
