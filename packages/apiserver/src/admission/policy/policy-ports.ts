// PolicyPorts: the ports of the plug-ins that evaluate policies.
import type { Clock, GroupResource } from '@kapstan/api';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { ConditionMetrics } from '../matching/condition-metrics.ts';
import type { RequestMatching } from '../matching/request-matching.ts';
import type { MutatingPolicy } from './mutating-policy.ts';
import type { PolicyMetrics } from './policy-metrics.ts';
import type { ParamKinds, PolicySource } from './policy-source.ts';
import type { ValidatingPolicy } from './validating-policy.ts';

export interface PolicyPorts {
  readonly validating: PolicySource<ValidatingPolicy>;
  readonly mutating: PolicySource<MutatingPolicy>;
  readonly requests: RequestMatching;
  readonly paramKinds: ParamKinds;
  readonly authorizer: Authorizer;
  readonly conditions: ConditionMetrics;
  readonly validatingMetrics: PolicyMetrics;
  readonly mutatingMetrics: PolicyMetrics;
  readonly clock: Clock;
  /** True for resources to which no policy applies: a bad policy must stay correctable, and nobody may be locked out. */
  readonly isExempt: (resource: GroupResource) => boolean;
}
