// RbacFeed lists and watches the stored roles and bindings in this process, and keeps the authorizer's policy in step with them.
// Between control-plane.ts and @kapstan/apiserver's RbacPolicy.
import type { Clock, DeepReadonly, KubernetesObject, Logger, Resource, ResourceClient } from '@kapstan/api';
import { Reflector } from '@kapstan/informers';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import type { RbacKind, RbacPolicy } from '@kapstan/kubernetes';
import { filter, firstValueFrom } from 'rxjs';

export interface RbacFeedPorts {
  readonly client: ResourceClient;
  readonly policy: RbacPolicy;
  readonly clock: Clock;
  readonly logger: Logger;
}

const kinds: readonly Resource<KubernetesObject>[] = [Role, ClusterRole, RoleBinding, ClusterRoleBinding];

export class RbacFeed {
  readonly #reflectors: readonly Reflector<KubernetesObject>[];

  /** Creates it idle; {@link start} starts it. */
  constructor(ports: RbacFeedPorts) {
    this.#reflectors = kinds.map((kind) => reflectorOf(kind, ports));
  }

  /** Starts the feed. It never gives up: while a kind cannot be read, its last known objects count. */
  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  /** Resolves when the policy holds everything stored at the start. Rejects when the feed is closed first. */
  async whenSynced(): Promise<void> {
    await Promise.all(
      this.#reflectors.map(({ status$ }) => firstValueFrom(status$.pipe(filter(({ phase }) => phase === 'live')))),
    );
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.close()));
  }
}

function reflectorOf(
  kind: Resource<KubernetesObject>,
  { client, policy, clock, logger }: RbacFeedPorts,
): Reflector<KubernetesObject> {
  const name = kind.kind as RbacKind;
  const store = {
    add: (object: DeepReadonly<KubernetesObject>) => policy.set(name, object),
    update: (object: DeepReadonly<KubernetesObject>) => policy.set(name, object),
    delete: (object: DeepReadonly<KubernetesObject>) => policy.delete(name, object),
    replace: (objects: Iterable<DeepReadonly<KubernetesObject>>) => policy.replace(name, objects),
  };
  return new Reflector(client.listerWatcher(kind), store, {
    clock,
    name: kind.plural,
    onWatchError: (error, { phase }) => {
      // "stale" means an expired version, which a relist repairs, so it is no warning.
      const level = phase === 'stale' ? 'debug' : 'warn';
      logger[level]('could not watch roles or bindings; retrying', { resource: kind.plural, error: String(error) });
    },
    onWarning: (text) => logger.warn(text),
    onStoreError: (error) => logger.error('ignored a role or binding that cannot be read', { error: String(error) }),
  });
}
