// A process that answers LIST and WATCH of pods with prebuilt bytes, so that the client under test is what takes the time.
// Started by informer.mjs; sends its port when it listens. Pods are about 2.3 KB, as a kube-apiserver answers them.
import { createServer } from 'node:http';

const objects = Number(process.argv[2]);
const firstVersion = 1_000_000_000;
const time = '2026-11-20T00:00:00Z';

function pod(index) {
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: `rs-${index % 100}`,
    uid: '3f1e4b73-f287-4a45-8bbb-000000000000',
  };
  const fields = { 'f:image': {}, 'f:imagePullPolicy': {}, 'f:name': {}, 'f:resources': {} };
  return {
    metadata: {
      ...{ name: `pod-${String(index).padStart(6, '0')}`, generateName: 'pod-', namespace: `ns-${index % 50}` },
      uid: `3f1e4b73-f287-4a45-8aaa-${String(index).padStart(12, '0')}`,
      ...{ resourceVersion: String(firstVersion + index), generation: 1, creationTimestamp: time },
      labels: { app: `app-${index % 100}`, 'one-in-100': `c${index % 100}` },
      annotations: { 'kubernetes.io/config.seen': time },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
      managedFields: [
        {
          ...{
            manager: 'kube-controller-manager',
            operation: 'Update',
            apiVersion: 'v1',
            time,
            fieldsType: 'FieldsV1',
          },
          fieldsV1: {
            'f:metadata': { 'f:generateName': {}, 'f:labels': { '.': {}, 'f:app': {} } },
            'f:spec': {
              'f:containers': { 'k:{"name":"main"}': { '.': {}, ...fields } },
              'f:dnsPolicy': {},
              'f:restartPolicy': {},
            },
          },
        },
      ],
    },
    spec: {
      volumes: [
        {
          name: 'kube-api-access',
          projected: {
            sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: 'token' } }],
            defaultMode: 420,
          },
        },
      ],
      containers: [
        {
          ...{ name: 'main', image: 'registry.example/app:1.27', ports: [{ containerPort: 80, protocol: 'TCP' }] },
          resources: { requests: { cpu: '100m', memory: '128Mi' } },
          volumeMounts: [
            { name: 'kube-api-access', readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
          ],
          ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
          imagePullPolicy: 'IfNotPresent',
        },
      ],
      ...{ restartPolicy: 'Always', terminationGracePeriodSeconds: 30, dnsPolicy: 'ClusterFirst' },
      ...{
        serviceAccountName: 'default',
        serviceAccount: 'default',
        nodeName: `node-${index % 500}`,
        securityContext: {},
      },
      schedulerName: 'default-scheduler',
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
      ...{ priority: 0, enableServiceLinks: true, preemptionPolicy: 'PreemptLowerPriority' },
    },
    status: {
      phase: 'Running',
      conditions: ['Initialized', 'Ready'].map((type) => ({
        ...{ type, status: 'True', lastProbeTime: null, lastTransitionTime: time },
      })),
      ...{ hostIP: '10.0.0.1', podIP: `10.1.${(index >> 8) % 256}.${index % 256}` },
      ...{ podIPs: [{ ip: `10.1.${(index >> 8) % 256}.${index % 256}` }], startTime: time, qosClass: 'Burstable' },
    },
  };
}

const version = String(firstVersion + objects);
const items = Array.from({ length: objects }, (_, index) => JSON.stringify(pod(index)));
const page = (from, to) => {
  const more = to < objects ? `,"continue":"${to}","remainingItemCount":${objects - to}` : '';
  const head = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${version}"${more}},"items":[`;
  return Buffer.from(`${head}${items.slice(from, to).join(',')}]}\n`);
};
const whole = page(0, objects);
const initialEvents = Buffer.from(
  `${items.map((item) => `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1",${item.slice(1)}}\n`).join('')}` +
    `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"${version}",` +
    `"annotations":{"k8s.io/initial-events-end":"true"}}}}\n`,
);

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  response.setHeader('content-type', 'application/json');
  if (pathname !== '/api/v1/pods') return void response.writeHead(404).end('{}');
  if (['1', 'true'].includes(searchParams.get('watch') ?? '')) {
    response.flushHeaders();
    if (searchParams.get('sendInitialEvents') === 'true') response.write(initialEvents);
    return;
  }
  const limit = Number(searchParams.get('limit') ?? 0);
  const from = Number(searchParams.get('continue') ?? 0);
  const body = limit > 0 && limit < objects ? page(from, Math.min(from + limit, objects)) : whole;
  response.end(body);
});
server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: server.address().port, bytesPerPod: whole.length / objects }),
);
process.on('disconnect', () => process.exit(0));
