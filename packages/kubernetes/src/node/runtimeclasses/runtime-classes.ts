// Runtime classes. Source: pkg/apis/node/validation ValidateRuntimeClass.
import { dnsLabelErrors } from '@kapstan/api/errors';
import type { RuntimeClass } from '@kapstan/kinds/node.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateTolerations } from '../../core/pods/scheduling-validation.ts';
import { validateLabels } from '../../validation/label-rules.ts';
import { labelKeyWarnings } from '../../validation/node-label-warnings.ts';
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
    if (old !== undefined) root.child('handler').immutable(object.handler, object.handler === old.handler);
  },
};
