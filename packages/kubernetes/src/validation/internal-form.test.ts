import { expect, it } from 'vitest';
import { internalForm } from './internal-form.ts';

it('has all fields under their Go names, in their order, with zero values for those that are not set', () => {
  const toleration = { value: 'v', key: 'k' };
  expect(JSON.stringify(internalForm('core.Toleration', toleration))).toBe(
    '{"Key":"k","Operator":"","Value":"v","Effect":"","TolerationSeconds":null}',
  );
});

it('is null for a value that is not there', () => {
  expect(internalForm('core.ObjectReference', undefined)).toBeNull();
});

it('spreads metadata and leaves out what is empty there', () => {
  const template = { metadata: { labels: { b: '1', a: '2' } }, spec: { containers: [] } };
  const form = internalForm('core.PodTemplateSpec', template) as { Spec: Record<string, unknown> };
  expect(JSON.stringify(form)).toMatch(/^{"labels":{"a":"2","b":"1"},"Spec":{"Volumes":null,"InitContainers":null,/);
  expect(form.Spec.Containers).toEqual([]);
});

it("takes the host's namespaces of a pod's security context from the pod", () => {
  const spec = { hostNetwork: true, hostUsers: false, containers: [], securityContext: { runAsUser: 1 } };
  const { SecurityContext: context } = internalForm('core.PodSpec', spec) as { SecurityContext: unknown };
  expect(context).toMatchObject({ HostNetwork: true, HostPID: false, HostUsers: false, RunAsUser: 1 });
});

it('puts sources of volumes beside their names, and amounts into maps', () => {
  const spec = {
    volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Gi' } }],
    containers: [{ name: 'c', resources: { limits: { memory: '1Gi', cpu: '1' } } }],
  };
  expect(internalForm('core.PodSpec', spec)).toMatchObject({
    Volumes: [{ Name: 'v', HostPath: null, EmptyDir: { Medium: '', SizeLimit: '1Gi' } }],
    Containers: [{ Resources: { Limits: { cpu: '1', memory: '1Gi' }, Requests: null, Claims: null } }],
  });
});

it('refuses a type that it does not know', () => {
  expect(() => internalForm('core.Nothing', {})).toThrow('no internal type core.Nothing');
});
