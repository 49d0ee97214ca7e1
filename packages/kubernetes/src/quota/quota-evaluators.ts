// QuotaEvaluators: the evaluator of each resource. Used by the admission plug-in ResourceQuota and by the control loop that counts usage.
// Source: pkg/quota/v1/evaluator/core/registry.go, pkg/quota/v1/install/registry.go.
import type { Clock, GroupResource } from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';
import { ObjectCount } from './object-count.ts';
import { PodUsage } from './pod-usage.ts';
import type { QuotaEvaluator } from './quota-evaluator.ts';
import { type ClaimPorts, ResourceClaimUsage } from './resource-claim-usage.ts';
import { ServiceUsage } from './service-usage.ts';
import { VolumeClaimUsage } from './volume-claim-usage.ts';

/** Resources whose objects are not stored, and events, which no quota has ever counted. */
const ignored: ReadonlySet<string> = new Set([
  'bindings',
  'componentstatuses',
  'tokenreviews.authentication.k8s.io',
  'selfsubjectreviews.authentication.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
  'selfsubjectaccessreviews.authorization.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
  'events',
  'events.events.k8s.io',
]);
/** Resources that quotas may also count by their bare name. */
const counted = ['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets'];

/** The evaluators by kind. */
export class QuotaEvaluators {
  readonly #evaluators = new Map<string, QuotaEvaluator>();

  constructor({ clock, ...ports }: ClaimPorts & { readonly clock: Clock }) {
    const pods = new PodUsage(clock);
    const counts = counted.map((resource) => new ObjectCount({ group: '', resource }, resource));
    for (const evaluator of [
      pods,
      new ServiceUsage(),
      new VolumeClaimUsage(),
      new ResourceClaimUsage(ports, pods),
      ...counts,
    ])
      this.#evaluators.set(formatGroupResource(evaluator.resource), evaluator);
  }

  /**
   * Returns the evaluator of a resource; undefined for one that no quota counts. Resources without a special evaluator are counted by
   * number.
   */
  of(resource: GroupResource): QuotaEvaluator | undefined {
    const name = formatGroupResource(resource);
    if (ignored.has(name)) return undefined;
    return this.#evaluators.get(name) ?? new ObjectCount(resource);
  }
}
