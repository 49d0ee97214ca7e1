// kubernetesTypes: the types of the built-in kinds, made from the facts of @kapstan/kinds. The schemas of their
// definitions refer to it.

import { TypeRegistry } from '@kapstan/apiserver/internal';
import { descriptionFacts, goTypeFacts, protobufFacts, schemaFacts } from '@kapstan/kinds/facts';
import { retiredKinds } from './retired-kinds.ts';

/** The types of Kubernetes' built-in kinds: schemas, protobuf tables, Go names. */
export const kubernetesTypes: TypeRegistry = new TypeRegistry({
  schemas: schemaFacts,
  protobuf: protobufFacts,
  goTypes: goTypeFacts,
  descriptions: descriptionFacts,
  // Fields marked in this way in Go, although they may be left out.
  markedDefaults: new Map<string, unknown>([
    ['autoscaling.v1.ScaleSpec.replicas', 0],
    ['core.v1.AzureDiskVolumeSource.readOnly', false],
    ['core.v1.FileKeySelector.optional', false],
    ['core.v1.GRPCAction.service', ''],
    ['core.v1.LocalObjectReference.name', ''],
    ['core.v1.ReplicationControllerSpec.minReadySeconds', 0],
  ]),
  // Kinds that are stored but not served.
  messageKinds: new Map([['v1/RangeAllocation', 'core.v1.RangeAllocation']]),
  retiredKinds,
  // Maps of amounts are ResourceLists, except in resource.k8s.io.
  isResourceList: (definition) => !definition.startsWith('resource.'),
});
