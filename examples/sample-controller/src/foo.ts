// Foo, the custom resource of the sample controller: its type, its token, its definition.
import { type KubernetesObject, type Resource, resource } from '@kapstan/api';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';

export interface Foo extends KubernetesObject {
  spec?: { deploymentName?: string; replicas?: number };
  status?: { availableReplicas?: number };
}

export const Foo: Resource<Foo> = resource<Foo>({ group: 'samplecontroller.k8s.io', version: 'v1alpha1', kind: 'Foo' });

export const fooDefinition: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'foos.samplecontroller.k8s.io',
    // Groups under k8s.io are protected: without this annotation the definition is not established.
    annotations: {
      'api-approved.kubernetes.io':
        'unapproved, experimental-only; please get an approval if this is more than a sample',
    },
  },
  spec: {
    group: 'samplecontroller.k8s.io',
    scope: 'Namespaced',
    names: { kind: 'Foo', plural: 'foos' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Deployment', type: 'string', jsonPath: '.spec.deploymentName' },
          { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
          { name: 'Available', type: 'integer', jsonPath: '.status.availableReplicas' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  deploymentName: { type: 'string' },
                  replicas: { type: 'integer', minimum: 1, maximum: 10 },
                },
              },
              status: { type: 'object', properties: { availableReplicas: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
};
