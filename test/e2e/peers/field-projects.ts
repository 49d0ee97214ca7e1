// Projects with widely used custom resources, from their Go modules, for field-definitions.test.ts. Their YAML is
// downloaded, never copied.
import type { UnstructuredObject } from '@kapstan/api';

export interface FieldProject {
  readonly title: string;
  /** Path and version of the Go module. */
  readonly module: string;
  /** Folders with the definitions, below the module. */
  readonly definitions: readonly string[];
  /** Minimum number of definitions in these folders. */
  readonly atLeast: number;
  /** Folders with objects of these kinds, and the number of objects that are right. */
  readonly examples?: { readonly folders: readonly string[]; readonly atLeast: number };
  /** An invalid object, and the text of its refusal. */
  readonly wrong: { readonly object: UnstructuredObject; readonly text: string };
}

const named = { name: 'wrong', namespace: 'default' };

export const fieldProjects: readonly FieldProject[] = [
  {
    title: 'Gateway API',
    module: 'sigs.k8s.io/gateway-api@v1.4.0',
    definitions: ['config/crd/experimental'],
    atLeast: 12,
    examples: { folders: ['examples'], atLeast: 50 },
    wrong: {
      object: {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'HTTPRoute',
        metadata: named,
        spec: {
          rules: [
            {
              filters: [{ type: 'RequestRedirect', requestRedirect: { statusCode: 301 } }],
              backendRefs: [{ name: 'a', port: 80 }],
            },
          ],
        },
      },
      text: 'RequestRedirect filter must not be used together with backendRefs',
    },
  },
  {
    title: 'cert-manager',
    module: 'github.com/cert-manager/cert-manager@v1.21.2',
    definitions: ['deploy/crds'],
    atLeast: 6,
    wrong: {
      object: { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata: named, spec: { secretName: 'tls' } },
      text: 'spec.issuerRef: Required value',
    },
  },
  {
    title: 'Cluster API',
    module: 'sigs.k8s.io/cluster-api@v1.14.2',
    definitions: ['core/config/crd/bases'],
    atLeast: 13,
    wrong: {
      object: {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'MachineHealthCheck',
        metadata: named,
        spec: {
          clusterName: 'c',
          selector: {},
          checks: { unhealthyMachineConditions: [{ type: 'Ready', status: 'False', timeoutSeconds: 1 }] },
        },
      },
      text: 'spec.checks.unhealthyMachineConditions[0].type: Invalid value',
    },
  },
  {
    title: 'Kueue',
    module: 'sigs.k8s.io/kueue@v0.14.0',
    definitions: ['config/components/crd/bases'],
    atLeast: 11,
    wrong: {
      object: {
        apiVersion: 'kueue.x-k8s.io/v1beta1',
        kind: 'ClusterQueue',
        metadata: { name: 'wrong' },
        spec: {
          preemption: { reclaimWithinCohort: 'Never', borrowWithinCohort: { policy: 'LowerPriority' } },
        },
      },
      text: 'reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never',
    },
  },
  {
    title: 'Prometheus operator',
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    definitions: ['example/prometheus-operator-crd-full'],
    atLeast: 10,
    examples: { folders: ['example/user-guides'], atLeast: 7 },
    wrong: {
      object: {
        apiVersion: 'monitoring.coreos.com/v1',
        kind: 'ServiceMonitor',
        metadata: named,
        spec: { endpoints: [] },
      },
      text: 'spec.selector: Required value',
    },
  },
  {
    title: 'Karpenter',
    module: 'sigs.k8s.io/karpenter@v1.8.0',
    definitions: ['pkg/apis/crds', 'kwok/apis/crds'],
    atLeast: 4,
    wrong: {
      object: {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        metadata: { name: 'wrong' },
        spec: {
          template: {
            spec: {
              nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
              requirements: [{ key: 'karpenter.sh/nodepool', operator: 'In', values: ['a'] }],
            },
          },
        },
      },
      text: 'label "karpenter.sh/nodepool" is restricted',
    },
  },
  {
    title: 'Crossplane',
    module: 'github.com/crossplane/crossplane/v2@v2.0.2',
    definitions: ['cluster/crds'],
    atLeast: 21,
    examples: { folders: ['test/e2e/manifests'], atLeast: 80 },
    wrong: {
      object: {
        apiVersion: 'apiextensions.crossplane.io/v1',
        kind: 'Composition',
        metadata: { name: 'wrong' },
        spec: { compositeTypeRef: { apiVersion: 'example.org/v1', kind: 'X' }, mode: 'Pipeline' },
      },
      text: 'an array of pipeline steps is required in Pipeline mode',
    },
  },
  {
    title: 'Istio',
    module: 'istio.io/api@v1.31.1',
    definitions: ['kubernetes'],
    atLeast: 15,
    wrong: {
      object: {
        apiVersion: 'networking.istio.io/v1',
        kind: 'ServiceEntry',
        metadata: named,
        spec: {
          hosts: ['a.example.com'],
          ports: [
            { number: 80, name: 'a' },
            { number: 80, name: 'b' },
          ],
        },
      },
      text: 'port number cannot be duplicated',
    },
  },
  {
    title: 'Argo CD',
    module: 'github.com/argoproj/argo-cd/v3@v3.1.0',
    definitions: ['manifests/crds'],
    atLeast: 3,
    wrong: {
      object: { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', metadata: named, spec: { destination: {} } },
      text: 'spec.project: Required value',
    },
  },
  {
    title: 'Knative Serving',
    module: 'knative.dev/serving@v0.51.0',
    definitions: ['config/core/300-resources'],
    atLeast: 7,
    examples: { folders: ['test', 'docs'], atLeast: 15 },
    wrong: {
      object: {
        apiVersion: 'serving.knative.dev/v1',
        kind: 'Service',
        metadata: named,
        spec: {
          template: { spec: { containers: [{ image: 'a', ports: [{ name: 'http1' }] }], timeoutSeconds: 'soon' } },
        },
      },
      text: 'spec.template.spec.timeoutSeconds: Invalid value',
    },
  },
  {
    title: 'Tekton',
    module: 'github.com/tektoncd/pipeline@v1.3.0',
    definitions: ['config/300-crds'],
    atLeast: 8,
    examples: { folders: ['examples'], atLeast: 200 },
    wrong: {
      object: { apiVersion: 'tekton.dev/v1', kind: 'Task', metadata: named, spec: { steps: [{ image: 'a' }] } },
      text: 'spec.steps[0].name: Required value',
    },
  },
  {
    title: 'KEDA',
    module: 'github.com/kedacore/keda/v2@v2.17.0',
    definitions: ['config/crd/bases'],
    atLeast: 6,
    wrong: {
      object: { apiVersion: 'keda.sh/v1alpha1', kind: 'ScaledObject', metadata: named, spec: { triggers: [] } },
      text: 'spec.scaleTargetRef: Required value',
    },
  },
];
