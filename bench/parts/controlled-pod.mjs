// A pod of about 5 KB as controllers, scheduler and kubelet leave it, with everything that differs between the pods of
// a ReplicaSet: random names of pod and volume, times, addresses, nodes, ids. Used where the likeness of pods matters.
import { createHash } from 'node:crypto';

const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns generators of random parts that are the same for the same seed. */
function random(seed) {
  const bytes = createHash('shake256', { outputLength: 2048 }).update(seed).digest();
  let at = 0;
  const below = (limit) => {
    at += 4;
    return bytes.readUInt32LE(at - 4) % limit;
  };
  const word = (length) => Array.from({ length }, () => alphabet[below(alphabet.length)]).join('');
  const hex = (length) => Array.from({ length }, () => below(16).toString(16)).join('');
  return {
    below,
    word,
    hex,
    uid: () => [8, 4, 4, 4, 12].map(hex).join('-'),
    address: () => [10, below(250), below(250), below(250)].join('.'),
    time: () => new Date(Date.UTC(2026, 10, 20) + below(1e9)).toISOString().replace(/\.\d+/, ''),
  };
}

/** Returns the parts that all pods of ReplicaSet number `set` share. */
function replicaSet(set) {
  const { below, word, uid } = random(`set ${set}`);
  const app = `service-${word(5)}`;
  const env = Array.from({ length: 3 + below(5) }, (_, index) => ({
    name: `VALUE_${index}_${word(3)}`,
    value: word(12),
  }));
  return {
    app,
    hash: word(10),
    uid: uid(),
    env,
    image: `registry.example/${app}:${word(6)}`,
    port: 8000 + (set % 1000),
  };
}

const keyed = (entries) => Object.fromEntries([['.', {}], ...entries]);
const some = (names) => keyed(names.map((name) => [`f:${name}`, {}]));

function managedFields({ env, uid }, { time, podIp }) {
  const variables = keyed(env.map(({ name }) => [`k:{"name":"${name}"}`, some(['name', 'value'])]));
  const container = {
    ...some(['image', 'imagePullPolicy', 'livenessProbe', 'name', 'ports', 'resources']),
    'f:env': variables,
  };
  const made = {
    'f:metadata': {
      'f:generateName': {},
      'f:labels': some(['app', 'pod-template-hash']),
      'f:ownerReferences': keyed([[`k:{"uid":"${uid}"}`, {}]]),
    },
    'f:spec': {
      'f:containers': { 'k:{"name":"main"}': container },
      ...some(['dnsPolicy', 'enableServiceLinks', 'restartPolicy', 'schedulerName']),
    },
  };
  const condition = some(['lastProbeTime', 'lastTransitionTime', 'status', 'type']);
  const conditions = ['ContainersReady', 'Initialized', 'Ready'].map((type) => [`k:{"type":"${type}"}`, condition]);
  const ips = keyed([[`k:{"ip":"${podIp}"}`, some(['ip'])]]);
  const ran = {
    'f:status': {
      'f:conditions': Object.fromEntries(conditions),
      'f:containerStatuses': {},
      'f:hostIP': {},
      'f:phase': {},
      'f:podIP': {},
      'f:podIPs': ips,
    },
  };
  const entry = (manager, fieldsV1) => ({
    manager,
    operation: 'Update',
    apiVersion: 'v1',
    time: time(),
    fieldsType: 'FieldsV1',
    fieldsV1,
  });
  return [entry('kube-controller-manager', made), { ...entry('kubelet', ran), subresource: 'status' }];
}

function specOf({ env, image, port }, { word, below }) {
  const access = `kube-api-access-${word(5)}`;
  const files = [
    { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    {
      downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] },
    },
  ];
  const toleration = (key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  });
  const probe = {
    httpGet: { path: '/healthz', port, scheme: 'HTTP' },
    timeoutSeconds: 1,
    periodSeconds: 10,
    failureThreshold: 3,
  };
  const mount = { name: access, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
  const container = {
    ...{ name: 'main', image, ports: [{ containerPort: port, protocol: 'TCP' }], env },
    ...{ resources: { requests: { cpu: '100m', memory: '128Mi' } }, volumeMounts: [mount], livenessProbe: probe },
    ...{
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      imagePullPolicy: 'IfNotPresent',
    },
  };
  return {
    ...{ volumes: [{ name: access, projected: { sources: files, defaultMode: 420 } }], containers: [container] },
    ...{
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'default',
    },
    ...{ nodeName: `node-${below(200)}`, securityContext: {}, schedulerName: 'default-scheduler' },
    ...{ tolerations: [toleration('not-ready'), toleration('unreachable')], priority: 0, enableServiceLinks: true },
  };
}

/**
 * Changes the spec as for a DaemonSet: the pod is bound to its node by an affinity, and tolerates the taints that would
 * evict others.
 */
function onItsNode(spec) {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [spec.nodeName] }];
  const required = { nodeSelectorTerms: [{ matchFields }] };
  const stays = ['disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable'].map((key) => ({
    ...{ key: `node.kubernetes.io/${key}`, operator: 'Exists', effect: 'NoSchedule' },
  }));
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  return { ...spec, affinity, tolerations: [...spec.tolerations, ...stays] };
}

function statusOf({ image }, { hex, time, address }, podIp) {
  const types = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];
  const conditions = types.map((type) => ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: time() }));
  const [imageID, containerID] = [`${image}@sha256:${hex(64)}`, `containerd://${hex(64)}`];
  const container = {
    name: 'main',
    state: { running: { startedAt: time() } },
    lastState: {},
    ready: true,
    restartCount: 0,
  };
  const containerStatuses = [{ ...container, image, imageID, containerID, started: true }];
  return {
    phase: 'Running',
    conditions,
    hostIP: address(),
    podIP: podIp,
    podIPs: [{ ip: podIp }],
    containerStatuses,
    qosClass: 'Burstable',
  };
}

/** Returns the names of a pod and its owner. `own`: the random parts of the pod. */
function namesOf({ set: setNumber, kind }, { app, hash }, own) {
  const owner = kind === 'DaemonSet' ? app : `${app}-${hash}`;
  const namespace = kind === 'DaemonSet' ? 'kube-system' : `team-${setNumber % 50}`;
  return { owner, namespace, name: `${owner}-${own.word(5)}` };
}

/** Returns the keys of pods with these owners, as a controller's work queue gets them, without making the pods. */
export function podKeys(owners) {
  const sets = new Map();
  return owners.map((owner, index) => {
    if (!sets.has(owner.set)) sets.set(owner.set, replicaSet(owner.set));
    const { namespace, name } = namesOf(owner, sets.get(owner.set), random(`pod ${index}`));
    return `${namespace}/${name}`;
  });
}

/** Returns pod number `index`, owned by controller number `owner.set` of kind 'ReplicaSet' or 'DaemonSet'. */
export function controlledPod(index, { set: setNumber, kind }) {
  const set = replicaSet(setNumber);
  const own = random(`pod ${index}`);
  const { owner, namespace, name } = namesOf({ set: setNumber, kind }, set, own);
  const podIp = own.address();
  const at = own.time();
  const reference = {
    apiVersion: 'apps/v1',
    kind,
    name: owner,
    uid: set.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    metadata: {
      ...{ name, generateName: `${owner}-`, namespace, uid: own.uid() },
      ...{ resourceVersion: String(1_000_000_000 + index), generation: 1, creationTimestamp: at },
      ...{ labels: { app: set.app, 'pod-template-hash': set.hash }, ownerReferences: [reference] },
      managedFields: managedFields(set, { ...own, podIp }),
    },
    spec: kind === 'DaemonSet' ? onItsNode(specOf(set, own)) : specOf(set, own),
    status: statusOf(set, own, podIp),
  };
}
