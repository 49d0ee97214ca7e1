// Types for the tests of this package: Kubernetes' own types, directly from the facts.
import { goTypeFacts, protobufFacts, schemaFacts } from '@kapstan/kinds/facts';
import { TypeRegistry } from '../schema/type-registry.ts';

export const factTypes: TypeRegistry = new TypeRegistry({
  schemas: schemaFacts,
  protobuf: protobufFacts,
  goTypes: goTypeFacts,
  retiredKinds: new Map([
    ['v1', ['List']],
    ['apps/v1beta1', ['Deployment']],
    ['extensions/v1beta1', ['Deployment', 'Ingress']],
  ]),
  isResourceList: (definition) => !definition.startsWith('resource.'),
});
