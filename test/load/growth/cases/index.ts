// All cases, in the order in which they run.
import type { GrowthCase } from '../growth-case.ts';
import { admissionCases } from './admission-cases.ts';
import { aggregationCases } from './aggregation-cases.ts';
import { answerCases } from './answer-cases.ts';
import { auditCases } from './audit-cases.ts';
import { authorizationCases } from './authorization-cases.ts';
import { conversionCases } from './conversion-cases.ts';
import { customResourceCases } from './custom-resource-cases.ts';
import { definitionCases } from './definition-cases.ts';
import { denseCases } from './dense-cases.ts';
import { flowControlCases } from './flow-control-cases.ts';
import { headCases } from './head-cases.ts';
import { identityCases } from './identity-cases.ts';
import { metadataCases } from './metadata-cases.ts';
import { openApiCases } from './openapi-cases.ts';
import { ownKindCases } from './own-kind-cases.ts';
import { patchCases } from './patch-cases.ts';
import { policyCases } from './policy-cases.ts';
import { ruleCases } from './rule-cases.ts';
import { schemaCases } from './schema-cases.ts';
import { selectorCases } from './selector-cases.ts';
import { stageCases } from './stage-cases.ts';
import { validationCases } from './validation-cases.ts';

export const growthCases: readonly GrowthCase[] = [
  ...metadataCases,
  ...patchCases,
  ...selectorCases,
  ...headCases,
  ...validationCases,
  ...stageCases,
  ...denseCases,
  ...admissionCases,
  ...aggregationCases,
  ...authorizationCases,
  ...policyCases,
  ...flowControlCases,
  ...identityCases,
  ...customResourceCases,
  ...ownKindCases,
  ...ruleCases,
  ...conversionCases,
  ...answerCases,
  ...auditCases,
  ...definitionCases,
  ...openApiCases,
  ...schemaCases,
];
