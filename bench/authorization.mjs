// Measures what a decision of the authorizers costs: RBAC alone, behind the group of masters, behind Node, and with a cached answer of a
// webhook. All decide about a GET of a pod by a user with one role, or by a kubelet about a secret, in turn in one process.
//   npm run bench authorization          KAPSTAN_BENCH_RUNS=5
import { silentLogger, systemClock } from '@kapstan/api';
import {
  AuthorizationMetrics,
  mastersAuthorizer,
  rbacAuthorizer,
  unionAuthorizer,
  WebhookAuthorizer,
} from '@kapstan/apiserver';
import { NodeGraph, nodeAuthorizer, RbacPolicy } from '@kapstan/kubernetes';
import { figure } from './parts/figures.mjs';

const decisions = 200_000;
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const group = 'rbac.authorization.k8s.io';

const policy = new RbacPolicy();
policy.set('ClusterRole', {
  metadata: { name: 'r' },
  rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
});
const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'r' };
const subjects = [{ kind: 'User', apiGroup: group, name: 'alice' }];
policy.set('ClusterRoleBinding', { metadata: { name: 'b' }, roleRef, subjects });

const graph = new NodeGraph();
const secret = { type: 'secret', namespace: 'ns', name: 'a' };
for (let at = 0; at < 10_000; at++)
  graph.setHolder({ type: 'pod', namespace: 'ns', name: `p${at}` }, `n${at % 100}`, [secret]);

const metrics = new AuthorizationMetrics({ clock: systemClock, server: 'bench' });
const rbac = rbacAuthorizer(policy);
const counted = metrics.counted('RBAC', 'rbac', rbac);
const node = metrics.counted('Node', 'node', nodeAuthorizer(graph));
const webhook = new WebhookAuthorizer({
  ...{ name: 'w', authorizedTtlMs: 3_600_000, unauthorizedTtlMs: 0, onError: 'deny', conditions: undefined },
  ...{
    ask: async () => ({ allowed: true, denied: false, reason: '' }),
    metrics,
    clock: systemClock,
    logger: silentLogger,
  },
});

const attributes = (name, groups, resource) => ({
  ...{ type: 'resource', user: { name, groups }, verb: 'get', group: '', version: 'v1', namespace: 'ns', resource },
  ...{ subresource: '', name: 'a' },
});
const ofAlice = attributes('alice', ['system:authenticated'], 'pods');
const ofNode = attributes('system:node:n7', ['system:nodes', 'system:authenticated'], 'secrets');
await webhook.authorize(ofAlice);

const works = {
  'RBAC alone': [rbac, ofAlice],
  RBAC: [unionAuthorizer([mastersAuthorizer, counted]), ofAlice],
  'Node,RBAC': [unionAuthorizer([mastersAuthorizer, node, counted]), ofAlice],
  'Node,RBAC for a kubelet': [unionAuthorizer([mastersAuthorizer, node, counted]), ofNode],
  'Webhook, kept': [unionAuthorizer([mastersAuthorizer, webhook]), ofAlice],
};

function measure([authorizer, asked]) {
  const before = process.cpuUsage();
  for (let at = 0; at < decisions; at++) authorizer.authorize(asked);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / decisions;
}

for (const work of Object.values(works)) measure(work);
const measured = Object.fromEntries(Object.keys(works).map((name) => [name, []]));
for (let run = 0; run < runs; run++)
  for (const [name, work] of Object.entries(works)) measured[name].push(measure(work));
for (const [what, samples] of Object.entries(measured))
  figure({ bench: 'authorization', what, unit: 'ns CPU per decision', samples });
