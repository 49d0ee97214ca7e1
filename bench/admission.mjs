// Measures what admission policies and webhooks add to the CPU of a create, compared with kube-apiserver + etcd: creates of ConfigMaps, 32
// at a time, with 0, 1 and 10 validating policies in force, with 10 that select other requests, with one mutating policy, and with a
// webhook of either kind. For comparison with the webhooks it also measures a call by a bare node:https client.
//   npm run bench admission         KAPSTAN_KUBE_APISERVER=path KAPSTAN_ETCD=path: the same work on the peer, in the same run
import { setTimeout as sleep } from 'node:timers/promises';
import { figure, median } from './parts/figures.mjs';
import { configMapBody, httpCaller, inParallel, namespaceBody } from './parts/http-caller.mjs';
import { hasPeer, startPeer } from './parts/peer-server.mjs';
import { startServer } from './parts/server-process.mjs';
import { startWebhooks } from './parts/webhook-process-start.mjs';

const creates = Number(process.env.KAPSTAN_BENCH_CREATES ?? 8_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 1);
const warmUp = 1_000;
/** Creates before the first work, whose code would otherwise be compiled while it is measured. */
const firstWarmUp = 8_000;
/** A kube-apiserver reads its policies again once a second, and its schemas every five seconds. */
const settleMs = 7_000;
const namespace = '/api/v1/namespaces/bench';
const group = '/apis/admissionregistration.k8s.io/v1';

const constraints = (resources) => ({
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources }],
});

/** An ordinary policy: two validations, a variable, a message. */
const validating = (name, resources) => ({
  kind: 'validating',
  name,
  spec: {
    matchConstraints: constraints(resources),
    variables: [{ name: 'size', expression: 'has(object.data) ? size(object.data) : 0' }],
    validations: [
      { expression: 'variables.size < 100', messageExpression: "'too many keys: ' + string(variables.size)" },
      {
        expression: "!has(object.metadata.labels) || object.metadata.labels.all(k, !k.startsWith('forbidden'))",
        message: 'a label is forbidden',
      },
    ],
  },
  binding: { validationActions: ['Deny'] },
});

const mutating = (name) => ({
  kind: 'mutating',
  name,
  spec: {
    matchConstraints: constraints(['configmaps']),
    reinvocationPolicy: 'Never',
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: {
          expression: "Object{metadata: Object.metadata{labels: {'by': request.userInfo.username}}}",
        },
      },
    ],
  },
  binding: {},
});

/** A webhook that answers in its own process. */
const webhook = (kind, path) => ({ kind, name: `${kind}-webhook`, path });

const several = (count, make) => Array.from({ length: count }, (_, index) => make(`p${index}`));
const works = {
  none: { what: 'create without policies', policies: [] },
  one: { what: 'create with 1 validating policy', policies: several(1, (name) => validating(name, ['configmaps'])) },
  ten: {
    what: 'create with 10 validating policies',
    policies: several(10, (name) => validating(name, ['configmaps'])),
  },
  others: { what: 'create beside 10 policies for pods', policies: several(10, (name) => validating(name, ['pods'])) },
  mutating: { what: 'create with 1 mutating policy', policies: [mutating('m')] },
  validated: { what: 'create with 1 validating webhook', policies: [webhook('validating', '/validate')] },
  mutated: { what: 'create with 1 mutating webhook', policies: [webhook('mutating', '/mutate')] },
};

async function install({ call }, policies) {
  for (const policy of policies) {
    const { kind, name, path, spec, binding } = policy;
    if (path !== undefined) {
      await webhooks.install(call, kind, { name, path });
      continue;
    }
    await call('POST', `${group}/${kind}admissionpolicies`, JSON.stringify({ metadata: { name }, spec }));
    const bound = { metadata: { name }, spec: { policyName: name, ...binding } };
    await call('POST', `${group}/${kind}admissionpolicybindings`, JSON.stringify(bound));
  }
}

async function remove({ call }, policies) {
  for (const { kind, name, path } of policies) {
    if (path !== undefined) {
      await webhooks.remove(call, kind, name);
      continue;
    }
    await call('DELETE', `${group}/${kind}admissionpolicybindings/${name}`);
    await call('DELETE', `${group}/${kind}admissionpolicies/${name}`);
  }
}

async function measureAll(server) {
  const caller = httpCaller(server, 32);
  await caller.call('POST', '/api/v1/namespaces', namespaceBody);
  const warm = (index) => caller.call('POST', `${namespace}/configmaps`, configMapBody(`warm-${index}`, index));
  await inParallel(firstWarmUp, 32, warm);
  const results = {};
  for (const [key, { policies }] of Object.entries(works)) {
    await install(caller, policies);
    await sleep(policies.length === 0 ? 0 : settleMs);
    const post = (index) => caller.call('POST', `${namespace}/configmaps`, configMapBody(`${key}-${index}`, index));
    await inParallel(warmUp, 32, post);
    const before = await server.measure();
    await inParallel(creates, 32, (index) => post(warmUp + index));
    const { cpuUs, turnMs } = await server.measure();
    results[key] = { cpu: (cpuUs - before.cpuUs) / creates, turnMs };
    await remove(caller, policies);
    await sleep(policies.length === 0 ? 0 : 2_000);
  }
  caller.close();
  await server.close();
  return results;
}

const webhooks = await startWebhooks();
const ours = [];
const peers = [];
for (let run = 0; run < runs; run += 1) {
  ours.push(await measureAll(await startServer({ flags: ['--disable-admission-plugins=ServiceAccount'] })));
  if (hasPeer) peers.push(await measureAll(await startPeer()));
}

const bareCallUs = await webhooks.bareCallUs(creates);
webhooks.end();

const bench = 'admission';
for (const [key, { what }] of Object.entries(works)) {
  const peer = hasPeer ? { name: 'kube-apiserver + etcd', value: median(peers.map((one) => one[key].cpu)) } : undefined;
  figure({
    ...{ bench, what: `CPU per ${what}`, unit: 'us', samples: ours.map((one) => one[key].cpu) },
    ...(peer === undefined ? {} : { peer, target: { atMost: peer.value / 2, why: 'half of the peer' } }),
  });
}
const callUs = (key) => median(ours.map((one) => one[key].cpu - one.none.cpu));
const bare = { name: 'bare node:https client', value: bareCallUs };
for (const [key, what] of [
  ['validated', 'validating'],
  ['mutated', 'mutating'],
])
  figure({
    bench,
    what: `CPU that 1 ${what} webhook adds to a create`,
    unit: 'us',
    samples: [callUs(key)],
    peer: bare,
  });
