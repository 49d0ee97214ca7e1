// PostStartHooks reports the steps of a start one by one in /healthz, /livez and /readyz, under kube-apiserver's names. control-plane.ts
// marks each step as done, serving.ts reads them. Source: kube-apiserver 1.36, /readyz?verbose.
import type { HealthCheck } from '@kapstan/apiserver';

/**
 * The hooks of kube-apiserver that have a counterpart here, in its order. Its other hooks belong to parts that are not
 * built or not needed.
 */
const inOrder = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-filter',
  'max-in-flight-filter',
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
  'priority-and-fairness-config-producer',
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

/**
 * Done when all resources are open: the admission chain is built, objects are counted, definitions are loaded, and each cache is filled or
 * has timed out.
 */
export const hooksOfResources: readonly PostStartHook[] = [
  'start-apiserver-admission-initializer',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'storage-readiness',
];

/** Done when the server has written its identity objects to the store once. */
export const hooksOfIdentity: readonly PostStartHook[] = [
  'start-cluster-authentication-info-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'start-legacy-token-tracking-controller',
];

const hooksOfLease: readonly string[] = hooksOfIdentity.filter((hook) => hook.includes('lease'));
const hooksOfService: readonly string[] = ['bootstrap-controller', 'start-kubernetes-service-cidr-controller'];

/** Finished by api-services/api-service-registration.ts. */
const hooksOfApiServices: readonly string[] = inOrder.slice(inOrder.indexOf('start-kube-aggregator-informers'));

/** The options that decide which parts a server has; see ControlPlaneOptions. */
export interface PartOptions {
  readonly endpointReconciler?: 'off' | 'none' | 'lease' | undefined;
  readonly identity?: 'off' | 'without lease' | 'on' | undefined;
  readonly registersApiServices?: boolean | undefined;
  readonly hasPriorityAndFairness?: boolean | undefined;
}

export class PostStartHooks {
  readonly #isFinished = new Map<PostStartHook, boolean>();

  /** Includes the hooks of the parts that the options enable. */
  constructor({
    endpointReconciler = 'off',
    identity = 'off',
    registersApiServices = false,
    hasPriorityAndFairness = true,
  }: PartOptions) {
    const isLeftOut = (hook: string): boolean =>
      (identity === 'off' && hooksOfIdentity.includes(hook as PostStartHook)) ||
      (identity !== 'on' && hooksOfLease.includes(hook)) ||
      (endpointReconciler === 'off' && hooksOfService.includes(hook)) ||
      (hasPriorityAndFairness ? hook === 'max-in-flight-filter' : hook.startsWith('priority-and-fairness-')) ||
      (!registersApiServices && hooksOfApiServices.includes(hook)) ||
      // This hook has its own health check.
      hook === 'rbac/bootstrap-roles';
    for (const hook of inOrder) if (!isLeftOut(hook)) this.#isFinished.set(hook as PostStartHook, false);
  }

  /** Marks hooks as finished; ignores those that this server does not have. */
  finish(...hooks: readonly PostStartHook[]): void {
    for (const hook of hooks) if (this.#isFinished.has(hook)) this.#isFinished.set(hook, true);
  }

  /** A finished hook stays finished, because everything that can fail later has its own check. */
  get healthChecks(): readonly HealthCheck[] {
    return [...this.#isFinished.keys()].map((hook) => ({
      name: `poststarthook/${hook}`,
      isPartOfStart: true,
      check: () => (this.#isFinished.get(hook) === true ? undefined : new Error('not finished')),
    }));
  }
}

/** Sorts checks in kube-apiserver's order; checks that it does not have come last. */
export function inKubernetesOrder(checks: readonly HealthCheck[]): HealthCheck[] {
  const hooks = inOrder.map((hook) => `poststarthook/${hook}`);
  // This check follows the registration hook and names the APIServices that are missing.
  hooks.splice(hooks.indexOf('poststarthook/kube-apiserver-autoregistration') + 1, 0, 'autoregister-completion');
  const first = ['etcd', 'etcd-readiness', 'informer-sync', ...hooks];
  const ranks = new Map(first.map((name, rank) => [name, rank]));
  const rankOf = ({ name }: HealthCheck): number => ranks.get(name) ?? first.length;
  return [...checks].sort((a, b) => rankOf(a) - rankOf(b));
}
