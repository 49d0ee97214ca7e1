import { systemClock } from '@kapstan/api';
import { AdmissionFunctions, alwaysAllow, ResourceCatalog, WebhookPool } from '@kapstan/apiserver';
import { describe, expect, it } from 'vitest';
import { admissionMatching } from './admission-matching.ts';
import { kubernetesAdmission } from './built-in-plugins.ts';
import { operationsOf } from './plugin-operations.ts';
import { policyAdmission } from './policies/policy-admission.ts';
import { webhookAdmission } from './webhook-admission.ts';

describe('what a plug-in is asked about', () => {
  const ports = { catalog: new ResourceCatalog(), authorizer: alwaysAllow, clock: systemClock };
  const shared = { ...ports, ...admissionMatching(ports.catalog) };
  const { ports: policies } = policyAdmission(shared);
  const { ports: webhooks } = webhookAdmission({
    ...shared,
    pool: new WebhookPool(),
    functions: new AdmissionFunctions(),
  });

  const made = kubernetesAdmission.make({ ...ports, webhooks, policies, random: () => 0 });

  it.each(made.map(({ plugin }) => plugin.name))('is listed for %s', (name) => {
    expect(operationsOf(name)).not.toEqual([]);
  });

  it('is listed for no other', () => {
    expect([...kubernetesAdmission.built].sort()).toEqual(made.map(({ plugin }) => plugin.name).sort());
  });

  it('is never guessed', () => {
    expect(() => operationsOf('ImagePolicyWebhook')).toThrow(
      new TypeError('what the admission plug-in ImagePolicyWebhook is asked about is not listed'),
    );
  });
});
