// Foo, the custom resource of Kubernetes' sample controller: the resource, its type and its definition from one schema.
import { defineResource, type ObjectOf } from '@kapstan/api';

export const Foo = defineResource({
  group: 'samplecontroller.k8s.io',
  version: 'v1alpha1',
  kind: 'Foo',
  spec: {
    type: 'object',
    properties: { deploymentName: { type: 'string' }, replicas: { type: 'integer', minimum: 1, maximum: 10 } },
  },
  status: { type: 'object', properties: { availableReplicas: { type: 'integer' } } },
  columns: [
    { name: 'Deployment', type: 'string', jsonPath: '.spec.deploymentName' },
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
    { name: 'Available', type: 'integer', jsonPath: '.status.availableReplicas' },
  ],
  // Groups under k8s.io are protected and need this annotation.
  annotations: { 'api-approved.kubernetes.io': 'unapproved, experimental-only; this is a sample' },
});
export type Foo = ObjectOf<typeof Foo>;
