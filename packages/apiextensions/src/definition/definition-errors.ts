// Checks a custom resource definition without a server, as the server would when it is created: for tools that write definitions.
import { deepCopy, type KubernetesObject } from '@kapstan/api';
import { formatFieldError } from '@kapstan/api/errors';
import { runWhole } from '@kapstan/api/internal';
import { collectFieldErrorsInSlices } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { setDefinitionDefaults } from './definition-defaults.ts';
import { validateDefinition } from './definition-validation.ts';

/**
 * Returns the faults for which a server would refuse the definition, one text for each field: schemas that are not structural, rules that
 * do not compile against the schema or cost too much, names, columns. Empty = the server accepts it. The definition is not changed.
 */
export function definitionErrors(definition: KubernetesObject): readonly string[] {
  const { spec } = definition as Partial<CustomResourceDefinition>;
  if (typeof spec !== 'object' || spec === null) return ['spec: Required value'];
  const copy = deepCopy(definition) as CustomResourceDefinition;
  setDefinitionDefaults(copy);
  return runWhole(collectFieldErrorsInSlices((root) => validateDefinition(root, copy, undefined))).map(
    formatFieldError,
  );
}
