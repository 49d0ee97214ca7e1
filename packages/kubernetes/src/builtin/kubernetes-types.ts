// kubernetesTypes: the types of the built-in kinds, made from the facts of @kapstan/kinds. The schemas of their definitions name it.

import { TypeRegistry } from '@kapstan/apiserver/internal';
import { goTypeFacts, protobufFacts, schemaFacts } from '@kapstan/kinds/facts';
import { retiredKinds } from './retired-kinds.ts';

export const kubernetesTypes: TypeRegistry = new TypeRegistry({
  schemas: schemaFacts,
  protobuf: protobufFacts,
  goTypes: goTypeFacts,
  // Kept in stores, but not served.
  messageKinds: new Map([['v1/RangeAllocation', 'core.v1.RangeAllocation']]),
  retiredKinds,
  // Of the maps of amounts only those of resource.k8s.io are no ResourceList.
  isResourceList: (definition) => !definition.startsWith('resource.'),
});
