// Flow schemas of growing size: the server indexes each written one, and uses the index for every request.
import { type GrowthCase, type GrowthRequest, times } from '../growth-case.ts';

const schemas = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';
const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] };

function schema(rules: readonly object[]): GrowthRequest {
  const body = {
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'FlowSchema',
    metadata: { name: 'growing' },
    spec: { priorityLevelConfiguration: { name: 'global-default' }, matchingPrecedence: 5, rules },
  };
  return { method: 'POST', path: schemas, body };
}

const user = (name: string): object => ({ kind: 'User', user: { name } });
const made = [`${schemas}/growing`];

export const flowControlCases: readonly GrowthCase[] = [
  {
    name: 'a flow schema of many subjects',
    full: 50_000,
    request: (n) => schema([{ subjects: times(n, (i) => user(`u${i}`)), resourceRules: [everything] }]),
    made,
  },
  {
    name: 'a flow schema of many resource rules',
    full: 20_000,
    request: (n) =>
      schema([{ subjects: [user('*')], resourceRules: times(n, (i) => ({ ...everything, resources: [`r${i}`] })) }]),
    made,
  },
  {
    name: 'a flow schema of many rules',
    full: 10_000,
    request: (n) =>
      schema(times(n, (i) => ({ subjects: [user(`u${i}`)], resourceRules: [{ ...everything, resources: ['none'] }] }))),
    made,
  },
  {
    name: 'a request beside a flow schema that has many rules for its user',
    full: 7_000,
    prepare: (n) => [
      schema(times(n, (i) => ({ subjects: [user('*')], resourceRules: [{ ...everything, resources: [`r${i}`] }] }))),
    ],
    request: () => ({ method: 'GET', path: '/api/v1/namespaces/default/configmaps?limit=1' }),
    made,
  },
];
