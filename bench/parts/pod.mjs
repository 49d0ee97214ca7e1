// Makes pods of about 2.3 KB, as a kube-apiserver answers them, for benchmarks that need many.
const firstVersion = 1_000_000_000;
const time = '2026-11-20T00:00:00Z';

/** Returns pod number `index`, with the version 1,000,000,000 + index. */
export function pod(index) {
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
