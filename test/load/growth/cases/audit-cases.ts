// Requests that are recorded whole, with their answers. The measured server truncates events of more than 4 MiB, which
// the largest requests and their answers exceed together.
import { configMap, creates, type GrowthCase, type GrowthRequest, members, pod, times } from '../growth-case.ts';

const recorded = '/api/v1/namespaces/recorded';
const configMaps = `${recorded}/configmaps`;
const pods = `${recorded}/pods`;

/** The only namespace whose requests are recorded. */
export const recordedNamespace: GrowthRequest = {
  method: 'POST',
  path: '/api/v1/namespaces',
  body: { metadata: { name: 'recorded' } },
};
/** Pods need it, and the loop that creates it does not run here. */
export const recordedAccount: GrowthRequest = {
  method: 'POST',
  path: `${recorded}/serviceaccounts`,
  body: { metadata: { name: 'default' } },
};

const data = (n: number): object => configMap({ data: members(n, () => 'x') });
const made = [`${configMaps}/growth`];
const post = (body: object): GrowthRequest => ({ method: 'POST', path: configMaps, body });

export const auditCases: readonly GrowthCase[] = [
  creates('a recorded create of many members', { path: configMaps, full: 80_000, body: data }),
  creates('a recorded create of one long text', {
    path: configMaps,
    full: 1_000_000,
    body: (n) => configMap({ data: { k: 'x'.repeat(n) } }),
  }),
  creates('a recorded create that is refused, with an object of the limit of a request', {
    path: configMaps,
    full: 2_900_000,
    body: (n) => configMap({ data: { k: 'x'.repeat(n) } }),
  }),
  creates('a recorded create of a pod with many variables', {
    path: pods,
    full: 40_000,
    body: (n) =>
      pod({ containers: [{ name: 'c', image: 'i', env: times(n, (i) => ({ name: `E${i}`, value: 'x' })) }] }),
  }),
  {
    name: 'a recorded update of many members',
    full: 80_000,
    prepare: (n) => [post(data(n))],
    request: (n) => ({ method: 'PUT', path: `${configMaps}/growth`, body: data(n) }),
    made,
  },
  {
    name: 'a recorded GET of many members, indented',
    full: 80_000,
    prepare: (n) => [post(data(n))],
    request: () => ({ method: 'GET', path: `${configMaps}/growth?pretty=true` }),
    made,
  },
  {
    name: 'a recorded merge patch of many members',
    full: 80_000,
    prepare: () => [post(configMap({}))],
    request: (n) => ({
      method: 'PATCH',
      path: `${configMaps}/growth`,
      contentType: 'application/merge-patch+json',
      body: { data: members(n, () => 'x') },
    }),
    made,
  },
];
