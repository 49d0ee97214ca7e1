// Pod templates. Source: pkg/registry/core/podtemplate.
import type { PodTemplate } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { setPodTemplateDefaults } from '../pods/pod-spec-defaults.ts';
import { validatePodTemplate } from '../pods/pod-spec-validation.ts';
import { templateWarnings } from '../pods/pod-warnings.ts';

export const podTemplates: BuiltinKind<PodTemplate> = {
  id: 'v1/podtemplates',
  warnings: (next, old) => templateWarnings('template', next.template, { next, old }),
  returnsDeletedObject: true,
  setDefaults: (object) => setPodTemplateDefaults(object.template),
  validate: (root, object) => validatePodTemplate(root.child('template'), object.template),
};
