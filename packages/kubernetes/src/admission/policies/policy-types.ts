// Checks the types in validating admission policies against the kinds that a server serves. Used by the control loop that writes their
// status.
import type { DeepReadonly } from '@kapstan/api';
import { formatApiVersion } from '@kapstan/api/internal';
import type { ResourceCatalog, ResourceDefinition } from '@kapstan/apiserver';
import { checkTypes, type ExpressionWarning, rootSchema, type ValidatingPolicySpec } from '@kapstan/apiserver/internal';
import type { ValidatingAdmissionPolicy } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { runInTurns } from '@kapstan/storage';
import { requestExpressions } from '../../admissionregistration/request-expressions.ts';

/** Returns the warnings for `status.typeChecking`. Gives other work its turn after each expression. */
export function policyTypeWarnings(
  { spec = {} }: DeepReadonly<ValidatingAdmissionPolicy>,
  catalog: ResourceCatalog,
): Promise<readonly ExpressionWarning[]> {
  const checked = (definition: ResourceDefinition | undefined) =>
    definition && { kind: definition, schema: rootSchema(definition.schema) };
  const work = checkTypes(
    spec as ValidatingPolicySpec,
    {
      ofResource: (...place) => checked(catalog.find(...place)?.definition),
      ofKind: ({ apiVersion, kind }) =>
        checked(
          catalog
            .all()
            .map(({ definition }) => definition)
            .find((definition) => definition.kind === kind && formatApiVersion(definition) === apiVersion),
        ),
    },
    requestExpressions,
  );
  return Promise.resolve(runInTurns(work));
}
