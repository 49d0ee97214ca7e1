// Runtime classes. Source: pkg/apis/node/validation ValidateRuntimeClass.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { Toleration } from '@kapstan/kinds/core/v1';
import type { RuntimeClass } from '@kapstan/kinds/node.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateTolerations } from '../../core/pods/scheduling-validation.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { validateLabels } from '../../validation/label-rules.ts';
import { labelKeyWarnings } from '../../validation/node-label-warnings.ts';
import { repetitions } from '../../validation/repetition.ts';
import { validateResourceRequirements } from '../../validation/resource-rules.ts';

export const runtimeClasses: BuiltinKind<RuntimeClass> = {
  id: 'node.k8s.io/v1/runtimeclasses',
  strategy: { updateMetadata: 'both', finalizerNames: 'Qualified' },
  warnings: ({ scheduling }) => labelKeyWarnings(scheduling?.nodeSelector, () => 'scheduling.nodeSelector'),
  validate: (root, object, old) => {
    if (object.handler === '') root.child('handler').required();
    else root.child('handler').invalidAll(object.handler, dnsLabelErrors(object.handler));
    if (object.overhead !== undefined) {
      // Kubernetes checks the overhead as limits and reports it so.
      validateResourceRequirements(root.child('overhead'), { limits: object.overhead.podFixed ?? {} });
    }
    validateLabels(root.child('scheduling', 'nodeSelector'), object.scheduling?.nodeSelector);
    validateTolerations(root.child('scheduling', 'tolerations'), object.scheduling?.tolerations);
    validateUniqueTolerations(root.child('scheduling', 'tolerations'), object.scheduling?.tolerations);
    if (old !== undefined) root.child('handler').immutable(object.handler, object.handler === old.handler);
  },
};

/** Tolerations may differ in their seconds alone. Source: pkg/apis/node/validation validateTolerations. */
function validateUniqueTolerations(at: Field, tolerations: readonly DeepReadonly<Toleration>[] | undefined): void {
  const isRepeated = repetitions<string>();
  at.each(tolerations, (toleration, place) => {
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    if (isRepeated(JSON.stringify([key, operator, value, effect])))
      place.duplicate(internalForm('core.Toleration', toleration));
  });
}
