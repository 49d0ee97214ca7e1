// Builders of small objects for tests: what is not said is filled in.
import type { KubernetesObject, ObjectMeta } from '../objects/kubernetes-object.ts';
import { type Resource, resource } from '../resources/resource.ts';

/** As much of a Pod as tests of the machinery need. */
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

/** Metadata in short: everything else is taken as it is. */
export interface BuilderOptions extends ObjectMeta {
  readonly name: string;
}

/** `pod({ name: 'a' })`: namespace "default", one container. The second argument is merged over spec and status. */
export function pod(meta: BuilderOptions, rest: Pick<TestPod, 'spec' | 'status'> = {}): TestPod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', ...meta },
    spec: { containers: [{ name: 'main', image: 'registry.example/main:1' }], ...rest.spec },
    ...(rest.status === undefined ? {} : { status: rest.status }),
  };
}

/** `configMap({ name: 'a' }, { key: 'value' })`: namespace "default". */
export function configMap(meta: BuilderOptions, data: Record<string, string> = {}): TestConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', ...meta }, data };
}
