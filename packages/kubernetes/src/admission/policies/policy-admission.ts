// policyAdmission makes the parts that the plug-ins ValidatingAdmissionPolicy and MutatingAdmissionPolicy use. It connects the control
// plane with built-in-plugins.ts.
import type { Clock } from '@kapstan/api';
import type { Authorizer, ResourceCatalog } from '@kapstan/apiserver';
import { PolicyMetrics, type PolicyPorts } from '@kapstan/apiserver/internal';
import { type AdmissionMatching, isExemptFromPolicies } from '../admission-matching.ts';
import { AdmissionPolicies } from './admission-policies.ts';
import { ParamResources } from './param-resources.ts';

export interface PolicyAdmissionOptions extends AdmissionMatching {
  readonly catalog: ResourceCatalog;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
}

/** The plug-ins of admission policies, and the data that they follow. */
export interface PolicyAdmission {
  /** The caller must keep this in step with the stored objects; until then requests wait and are refused. */
  readonly policies: AdmissionPolicies;
  readonly ports: PolicyPorts;
}

/** Returns the plug-ins of admission policies. */
export function policyAdmission(options: PolicyAdmissionOptions): PolicyAdmission {
  const { catalog, requests, conditionMetrics, authorizer, clock } = options;
  const policies = new AdmissionPolicies(clock);
  return {
    policies,
    ports: {
      validating: policies.validating,
      mutating: policies.mutating,
      requests,
      paramKinds: new ParamResources(catalog),
      authorizer,
      conditions: conditionMetrics,
      validatingMetrics: new PolicyMetrics('validating'),
      mutatingMetrics: new PolicyMetrics('mutating'),
      clock,
      isExempt: isExemptFromPolicies,
    },
  };
}
