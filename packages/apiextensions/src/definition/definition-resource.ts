// customresourcedefinitions: the built-in resource that defines all custom ones. Source: apiextensions-apiserver
// pkg/registry/customresourcedefinition.
import type { Clock, DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import type { SlicedWork } from '@kapstan/api/internal';
import type { ResourceDefinition, ResourceStrategy } from '@kapstan/apiserver';
import type { DefinitionOrigin, ResourceFacts, TypedKind } from '@kapstan/apiserver/internal';
import { collectFieldErrorsInSlices, typedResource } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { setCondition } from './definition-conditions.ts';
import { addStoredVersion, setDefinitionDefaults } from './definition-defaults.ts';
import { validateDefinition, validateDefinitionStatus } from './definition-validation.ts';
import { formatWarnings } from './format-warnings.ts';
import { hasLargePatterns } from './large-patterns.ts';
import { fromStoredDefinition, toStoredDefinition } from './stored-definition.ts';

/** Finalizer of a definition that is being deleted. It is removed when all objects of the definition are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

/** Id of the resource "customresourcedefinitions" in the facts of the built-in kinds. */
export const definitionsId = 'apiextensions.k8s.io/v1/customresourcedefinitions';

/** Options of {@link definitionResource}. */
export interface DefinitionResourceOptions {
  readonly clock: Clock;
  /** Facts of {@link definitionsId}. */
  readonly facts: ResourceFacts;
}

/** Returns the definition of the kind CustomResourceDefinition itself. */
export function definitionResource({
  clock,
  facts,
}: DefinitionResourceOptions): ResourceDefinition<UnstructuredObject> {
  const kind: TypedKind<CustomResourceDefinition> = {
    id: definitionsId,
    setDefaults: setDefinitionDefaults,
    prepareForCreate: (definition) => addStoredVersion(definition, 'always'),
    prepareForUpdate: (next) => addStoredVersion(next, 'always'),
    validate: validateDefinition,
    warnings: formatWarnings,
    status: { validate: validateDefinitionStatus, resetFields: [['metadata']] },
    strategy: {
      finalizerNames: 'Qualified',
      holdsDeletion: (definition) => definition.metadata?.deletionTimestamp === undefined,
      heldIgnoresPropagation: true,
      prepareForDeletion: (definition) => prepareForDeletion(definition, clock.now()),
    },
    convert: { fromStored: fromStoredDefinition, toStored: toStoredDefinition },
  };
  const definition = typedResource(kind, facts);
  const strategy: ResourceStrategy<UnstructuredObject> = {
    ...definition.strategy,
    validateCreateInSlices: (object) => validateInSlices(object, undefined),
    validateUpdateInSlices: (next, old) => validateInSlices(next, old),
  };
  return { ...definition, strategy, origin, isSlowToValidate: hasLargePatterns };
}

/** Expressions of rules are compiled one at a time, because a definition may have thousands. */
function validateInSlices(
  object: DeepReadonly<UnstructuredObject>,
  old: DeepReadonly<UnstructuredObject> | undefined,
): SlicedWork<readonly FieldError[]> {
  const [next, before] = [object, old] as unknown as [Definition, Definition | undefined];
  return collectFieldErrorsInSlices((root) => validateDefinition(root, next, before));
}

type Definition = DeepReadonly<CustomResourceDefinition>;

const origin: DefinitionOrigin = { maker: 'definitions', parts: {} };

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
