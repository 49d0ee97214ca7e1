// Builders of small objects for tests. They fill in members that are not given.
import type { KubernetesObject, ObjectMeta } from '../objects/kubernetes-object.ts';
import { type Resource, resource } from '../resources/resource.ts';

/** The fields of a Pod that tests of the machinery need. */
export interface TestPod extends KubernetesObject {
  spec?: { nodeName?: string; containers?: { name: string; image: string }[] };
  status?: { phase?: string };
}

export interface TestConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

export const testPods: Resource<TestPod> = resource<TestPod>({ group: '', version: 'v1', kind: 'Pod' });
export const testConfigMaps: Resource<TestConfigMap> = resource<TestConfigMap>({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
});

/** Metadata of the object; missing parts get defaults. */
export interface BuilderOptions extends ObjectMeta {
  readonly name: string;
}

/**
 * Builds `pod({ name: 'a' })` in namespace "default" with one container. The second argument is merged over spec and
 * status.
 */
export function pod(meta: BuilderOptions, rest: Pick<TestPod, 'spec' | 'status'> = {}): TestPod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', ...meta },
    spec: { containers: [{ name: 'main', image: 'registry.example/main:1' }], ...rest.spec },
    ...(rest.status === undefined ? {} : { status: rest.status }),
  };
}

/** Builds `configMap({ name: 'a' }, { key: 'value' })` in namespace "default". */
export function configMap(meta: BuilderOptions, data: Record<string, string> = {}): TestConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', ...meta }, data };
}
