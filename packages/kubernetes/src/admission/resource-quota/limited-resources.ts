// The configuration of the plug-in ResourceQuota: resources that may be used only where a quota covers them. Source:
// apiserver pkg/admission/plugin/resourcequota/apis/resourcequota.
import { aggregateTexts, formatFieldError, requiredField } from '@kapstan/api/errors';
import {
  decodeConfiguration,
  fileSchema,
  listSchema,
  structSchema,
  textSchema,
  textsSchema,
} from '@kapstan/apiserver/internal';
import type { ScopeTerm } from '../../quota/quota-scope.ts';

export interface LimitedResource {
  readonly apiGroup: string;
  readonly resource: string;
  /** Substrings of the names whose use must be covered: "requests.storage". */
  readonly matchContains: readonly string[];
  /** Scopes of objects that a quota with the same scope must cover. */
  readonly matchScopes: readonly ScopeTerm[];
}

const schema = fileSchema('v1.Configuration', {
  limitedResources: listSchema(
    structSchema('v1.LimitedResource', {
      apiGroup: textSchema,
      resource: textSchema,
      matchContains: textsSchema,
      matchScopes: listSchema(
        structSchema('v1.ScopedResourceSelectorRequirement', {
          scopeName: textSchema,
          operator: textSchema,
          values: textsSchema,
        }),
      ),
    }),
  ),
});
const kinds = new Map([
  ['apiserver.config.k8s.io/v1', 'ResourceQuotaConfiguration'],
  ['resourcequota.admission.k8s.io/v1beta1', 'Configuration'],
  ['resourcequota.admission.k8s.io/v1alpha1', 'Configuration'],
]);

/** Returns nothing when there is no text. Throws an Error that describes the fault. */
export function parseLimitedResources(text: string | undefined): readonly LimitedResource[] {
  if (text === undefined) return [];
  const decoded = decodeConfiguration(text, { kinds, schema });
  const { limitedResources = [] } = decoded as { readonly limitedResources?: readonly Partial<LimitedResource>[] };
  const errors = limitedResources.flatMap(({ resource = '' }, index) =>
    resource === '' ? [requiredField(`limitedResources[${index}].resource`)] : [],
  );
  if (errors.length > 0) throw new Error(aggregateTexts(errors.map(formatFieldError)));
  return limitedResources.map(({ apiGroup = '', resource = '', matchContains = [], matchScopes = [] }) => ({
    apiGroup,
    resource,
    matchContains,
    matchScopes,
  }));
}
