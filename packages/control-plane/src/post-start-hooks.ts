// PostStartHooks: the parts of a start that /healthz, /livez and /readyz tell of one by one, under kube-apiserver's names. Told by
// control-plane.ts when each is done, asked by serving.ts. Source: kube-apiserver 1.36, /readyz?verbose.
import type { HealthCheck } from '@kapstan/apiserver';
import type { ControlPlaneOptions } from './control-plane-options.ts';

/** Those of kube-apiserver that have an equal here, in its order. The others are of parts that are not built, or not needed. */
const inOrder = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-cluster-authentication-info-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'storage-readiness',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
  'start-kube-aggregator-informers',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-registration-controller',
  'apiservice-discovery-controller',
  'kube-apiserver-autoregistration',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
] as const;

export type PostStartHook = Exclude<(typeof inOrder)[number], 'rbac/bootstrap-roles'>;

/** Done when all resources are open: the admission chain is made, the objects were counted, the definitions found, the caches filled or given up waiting for. */
export const hooksOfResources: readonly PostStartHook[] = [
  'start-apiserver-admission-initializer',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'storage-readiness',
];

/** Done when the server has said once in the store what it says of itself. */
export const hooksOfIdentity: readonly PostStartHook[] = [
  'start-cluster-authentication-info-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'start-legacy-token-tracking-controller',
];

const hooksOfLease: readonly string[] = hooksOfIdentity.filter((hook) => hook.includes('lease'));
const hooksOfService: readonly string[] = ['bootstrap-controller', 'start-kubernetes-service-cidr-controller'];

/** Done by api-services/api-service-registration.ts, which says when. */
const hooksOfApiServices: readonly string[] = inOrder.slice(inOrder.indexOf('start-kube-aggregator-informers'));

export class PostStartHooks {
  readonly #isFinished = new Map<PostStartHook, boolean>();

  /** Of the parts that the options ask for. */
  constructor({ endpointReconciler = 'off', identity = 'off', registersApiServices = false }: ControlPlaneOptions) {
    const isLeftOut = (hook: string): boolean =>
      (identity === 'off' && hooksOfIdentity.includes(hook as PostStartHook)) ||
      (identity !== 'on' && hooksOfLease.includes(hook)) ||
      (endpointReconciler === 'off' && hooksOfService.includes(hook)) ||
      (!registersApiServices && hooksOfApiServices.includes(hook)) ||
      // It has a check of its own.
      hook === 'rbac/bootstrap-roles';
    for (const hook of inOrder) if (!isLeftOut(hook)) this.#isFinished.set(hook as PostStartHook, false);
  }

  /** Those that the server does without are passed over. */
  finish(...hooks: readonly PostStartHook[]): void {
    for (const hook of hooks) if (this.#isFinished.has(hook)) this.#isFinished.set(hook, true);
  }

  /** Once finished, one stays so: what can fail later has checks of its own. */
  get healthChecks(): readonly HealthCheck[] {
    return [...this.#isFinished.keys()].map((hook) => ({
      name: `poststarthook/${hook}`,
      isPartOfStart: true,
      check: () => (this.#isFinished.get(hook) === true ? undefined : new Error('not finished')),
    }));
  }
}

/** As kube-apiserver lists them; those that it has not, last. */
export function inKubernetesOrder(checks: readonly HealthCheck[]): HealthCheck[] {
  const hooks = inOrder.map((hook) => `poststarthook/${hook}`);
  // Behind the registration comes a check that says what of it is missing.
  hooks.splice(hooks.indexOf('poststarthook/kube-apiserver-autoregistration') + 1, 0, 'autoregister-completion');
  const first = ['etcd', 'etcd-readiness', 'informer-sync', ...hooks];
  const ranks = new Map(first.map((name, rank) => [name, rank]));
  const rankOf = ({ name }: HealthCheck): number => ranks.get(name) ?? first.length;
  return [...checks].sort((a, b) => rankOf(a) - rankOf(b));
}
