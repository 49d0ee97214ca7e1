// kubernetesTypes: the types of the built-in kinds, made from the facts of @kapstan/kinds. The schemas of their
// definitions refer to it.

import { TypeRegistry } from '@kapstan/apiserver/internal';
import { goTypeFacts, protobufFacts, schemaFacts } from '@kapstan/kinds/facts';
import { retiredKinds } from './retired-kinds.ts';

export const kubernetesTypes: TypeRegistry = new TypeRegistry({
  schemas: schemaFacts,
  protobuf: protobufFacts,
  goTypes: goTypeFacts,
  // Kinds that are stored but not served.
  messageKinds: new Map([['v1/RangeAllocation', 'core.v1.RangeAllocation']]),
  retiredKinds,
  // Maps of amounts are ResourceLists, except those of resource.k8s.io.
  isResourceList: (definition) => !definition.startsWith('resource.'),
});
