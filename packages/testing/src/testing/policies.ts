// Policies with bindings for the tests of admission, in few words.
import {
  type MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  type MutatingAdmissionPolicySpec,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  type ValidatingAdmissionPolicyBindingSpec,
  type ValidatingAdmissionPolicySpec,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { TestCluster } from '../test-cluster.ts';

/** Constraints for requests about resources of any group and version. */
export function about(resources: readonly string[], ...operations: readonly string[]): MatchResources {
  const rule = { apiGroups: ['*'], apiVersions: ['*'], operations, resources };
  return { resourceRules: [rule as NonNullable<MatchResources['resourceRules']>[number]] };
}

/** Constraints for writes of config maps. */
export const configMaps: MatchResources = {
  resourceRules: [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
  ],
};

export interface PolicyOptions<S> {
  readonly name?: string;
  readonly spec: S;
  readonly binding?: Partial<ValidatingAdmissionPolicyBindingSpec>;
}

/** Creates a policy with a binding, and waits until they are in force. */
export async function validate(
  cluster: TestCluster,
  { name = 'p', spec, binding = {} }: PolicyOptions<Partial<ValidatingAdmissionPolicySpec>>,
): Promise<void> {
  const whole = { matchConstraints: configMaps, ...spec };
  await cluster.client.create(ValidatingAdmissionPolicy, { metadata: { name }, spec: whole });
  const bound: ValidatingAdmissionPolicyBindingSpec = { policyName: name, validationActions: ['Deny'], ...binding };
  await cluster.client.create(ValidatingAdmissionPolicyBinding, { metadata: { name }, spec: bound });
  await cluster.settle();
}

/** Creates a mutating policy with a binding, and waits until they are in force. */
export async function mutate(
  cluster: TestCluster,
  { name = 'm', spec, binding = {} }: PolicyOptions<Partial<MutatingAdmissionPolicySpec>>,
): Promise<void> {
  const whole: MutatingAdmissionPolicySpec = { matchConstraints: configMaps, reinvocationPolicy: 'Never', ...spec };
  await cluster.client.create(MutatingAdmissionPolicy, { metadata: { name }, spec: whole });
  await cluster.client.create(MutatingAdmissionPolicyBinding, {
    metadata: { name },
    spec: { policyName: name, ...binding },
  });
  await cluster.settle();
}

export function applies(expression: string): NonNullable<MutatingAdmissionPolicySpec['mutations']>[number] {
  return { patchType: 'ApplyConfiguration', applyConfiguration: { expression } };
}

export function patches(expression: string): NonNullable<MutatingAdmissionPolicySpec['mutations']>[number] {
  return { patchType: 'JSONPatch', jsonPatch: { expression } };
}
