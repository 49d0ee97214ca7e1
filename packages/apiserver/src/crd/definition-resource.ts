// customresourcedefinitions: the built-in resource that brings in all the others.
// Source: apiextensions-apiserver pkg/registry/customresourcedefinition.
import type { Clock, DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { defineBuiltin } from '../registry/builtin-resource.ts';
import type { ResourceDefinition } from '../registry/resource-definition.ts';
import { setCondition } from './definition-conditions.ts';
import { addStoredVersion, setDefinitionDefaults } from './definition-defaults.ts';
import { validateDefinition, validateDefinitionStatus } from './definition-validation.ts';
import { formatWarnings } from './format-warnings.ts';
import { fromStoredDefinition, toStoredDefinition } from './stored-definition.ts';

/** On a definition that is being deleted, until all its objects are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

export function definitionResource(clock: Clock): ResourceDefinition<UnstructuredObject> {
  return defineBuiltin<CustomResourceDefinition>({
    id: 'apiextensions.k8s.io/v1/customresourcedefinitions',
    setDefaults: setDefinitionDefaults,
    prepareForCreate: (definition) => addStoredVersion(definition, 'always'),
    prepareForUpdate: (next) => addStoredVersion(next, 'always'),
    validate: validateDefinition,
    warnings: formatWarnings,
    status: { validate: validateDefinitionStatus, resetFields: [['metadata']] },
    strategy: {
      finalizerNames: 'Qualified',
      holdsDeletion: (definition) => definition.metadata?.deletionTimestamp === undefined,
      prepareForDeletion: (definition) => prepareForDeletion(definition, clock.now()),
    },
    convert: { fromStored: fromStoredDefinition, toStored: toStoredDefinition },
  });
}

function prepareForDeletion(definition: CustomResourceDefinition, nowMs: number): void {
  const metadata = definition.metadata ?? {};
  const finalizers = metadata.finalizers ?? [];
  if (!finalizers.includes(cleanupFinalizer)) metadata.finalizers = [...finalizers, cleanupFinalizer];
  definition.metadata = metadata;
  setCondition(
    definition,
    {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    },
    nowMs,
  );
}

export function isCleanedUp(definition: DeepReadonly<KubernetesObject>): boolean {
  return !(definition.metadata?.finalizers ?? []).includes(cleanupFinalizer);
}
