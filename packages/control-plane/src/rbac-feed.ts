// RbacFeed: keeps the policy of the authorizer in step with the stored roles and bindings, by list and watch in this process.
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

  /** Does nothing until {@link start}. */
  constructor(ports: RbacFeedPorts) {
    this.#reflectors = kinds.map((kind) => reflectorOf(kind, ports));
  }

  /** It never gives up: while a kind cannot be read, what was known of it last holds. */
  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  /** Resolves when the policy holds all that was stored at the start. Rejects when the feed is closed before. */
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
      // Expired is no trouble: it is listed anew.
      const level = phase === 'stale' ? 'debug' : 'warn';
      logger[level]('Roles or bindings could not be followed', { resource: kind.plural, error: String(error) });
    },
    onWarning: (text) => logger.warn(text),
    onStoreError: (error) => logger.error('A role or binding was passed over', { error: String(error) }),
  });
}
