import { isForbidden, type KubernetesObject } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { alwaysAllow, ResourceCatalog } from '@kapstan/apiserver';
import { ValidatingPolicies } from '@kapstan/apiserver/internal';
import { expect, it } from 'vitest';
import { admissionMatching } from '../admission-matching.ts';
import { policyAdmission } from './policy-admission.ts';

const clock = new VirtualClock();
const catalog = new ResourceCatalog();
const { policies, ports } = policyAdmission({
  ...admissionMatching(catalog),
  catalog,
  authorizer: alwaysAllow,
  clock,
});
const plugin = new ValidatingPolicies('ValidatingAdmissionPolicy', ports);

const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }];
const matchConstraints = { resourceRules, namespaceSelector: {}, objectSelector: {} };
const policy = (generation: number, expression: string): KubernetesObject =>
  ({
    metadata: { name: 'p', uid: 'u', generation },
    spec: { matchConstraints, validations: [{ expression }] },
  }) as KubernetesObject;
const binding = {
  metadata: { name: 'b' },
  spec: { policyName: 'p', validationActions: ['Deny'] },
} as KubernetesObject;

const request = (): Promise<void> =>
  Promise.resolve(
    plugin.validate({
      operation: 'CREATE',
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      subresource: '',
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      name: 'x',
      namespace: 'default',
      object: { metadata: { name: 'x' } },
      oldObject: undefined,
      context: {
        user: { name: 'u', groups: [] },
        namespace: 'default',
        dryRun: false,
        fieldManager: '',
        fieldValidation: 'Ignore',
        warn: () => undefined,
      },
    }),
  );

it('holds requests back until policies and bindings are known', async () => {
  policies.replace('ValidatingAdmissionPolicy', [policy(1, 'false')]);
  expect(ports.validating.hasSynced).toBe(false);
  const early = request();
  const refused = expect(early).rejects.toSatisfy(isForbidden);
  await clock.advance(11_000);
  await refused;
  policies.replace('ValidatingAdmissionPolicyBinding', [binding]);
  expect(ports.validating.hasSynced).toBe(true);
  await expect(request()).rejects.toThrow(
    "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: false",
  );
});

it('compiles again what has another generation, and only that', async () => {
  const [before] = ports.validating.policies;
  policies.set('ValidatingAdmissionPolicy', policy(1, 'true'));
  expect(ports.validating.policies[0]?.policy).toBe(before?.policy);
  policies.set('ValidatingAdmissionPolicy', policy(2, 'true'));
  await request();
  policies.delete('ValidatingAdmissionPolicyBinding', binding);
  expect(ports.validating.policies).toEqual([]);
});

it('denies by a policy whose selectors are missing, because it could be for every request', async () => {
  policies.set('ValidatingAdmissionPolicyBinding', binding);
  const bare = {
    ...policy(3, 'true'),
    spec: { matchConstraints: { resourceRules }, validations: [{ expression: 'true' }] },
  };
  policies.set('ValidatingAdmissionPolicy', bare as KubernetesObject);
  await expect(request()).rejects.toThrow('failed to configure policy: a nil namespace selector was passed');
});
